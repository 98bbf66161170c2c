package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Format is that of results; it grows when a field changes its meaning.
const Format = 1

// Result is a session: what was run, on what, and every sample.
type Result struct {
	Format      int       `json:"format"`
	Started     time.Time `json:"started"`
	Finished    time.Time `json:"finished"`
	Runs        int       `json:"runs"` // of each contender
	Seed        uint64    `json:"seed"` // of the order
	Quick       bool      `json:"quick"`
	Interrupted bool      `json:"interrupted,omitempty"` // samples are missing
	Commit      Commit    `json:"commit"`
	Machine     Machine   `json:"machine"`
	Suites      []Suite   `json:"suites"`
	Samples     []Sample  `json:"samples"` // in the order in which they ran
}

// Sample is one run of a contender.
type Sample struct {
	Suite     string             `json:"suite"`
	Case      string             `json:"case"`
	Contender string             `json:"contender"`
	Round     int                `json:"round"` // from 1
	Started   time.Time          `json:"started"`
	Load      float64            `json:"load"`           // average over the minute before; this session's own runs are in it
	Others    float64            `json:"others"`         // share of the machine's CPU, 0 to 1, that went elsewhere meanwhile
	Wall      float64            `json:"wall_seconds"`   // of the process
	CPU       float64            `json:"cpu_seconds"`    // of the process: user and system
	Peak      int64              `json:"peak_rss_bytes"` // of the process
	Figures   map[string]float64 `json:"figures,omitempty"`
	Error     string             `json:"error,omitempty"` // why there are no figures
}

// Missing names the contenders that could not be had, each with the reason.
func (r *Result) Missing() []string {
	var missing []string
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			for _, x := range c.Contenders {
				if x.NotRun != "" {
					missing = append(missing, fmt.Sprintf("%s/%s: %s: not run: %s", s.Name, c.Name, x.Name, x.NotRun))
				}
			}
		}
	}
	return missing
}

// Failed names the runs that failed, each with the reason.
func (r *Result) Failed() []string {
	var failed []string
	for _, s := range r.Samples {
		if s.Error != "" {
			failed = append(failed, fmt.Sprintf("%s/%s: %s: round %d: %s", s.Suite, s.Case, s.Contender, s.Round, s.Error))
		}
	}
	return failed
}

// samples are those of a contender, in the order of their rounds.
func (r *Result) samples(suite, name, contender string) []Sample {
	var all []Sample
	for _, s := range r.Samples {
		if s.Suite == suite && s.Case == name && s.Contender == contender {
			all = append(all, s)
		}
	}
	return all
}

// Save writes the result into the folder as NAME.json and NAME.md, where NAME is
// the time at which it was started, and returns their paths. Each appears whole
// or not at all, the JSON first.
func (r *Result) Save(dir string) (jsonPath, markdownPath string, err error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", "", fmt.Errorf("encode the result: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	name := filepath.Join(dir, r.Started.UTC().Format("2006-01-02T150405Z"))
	jsonPath, markdownPath = name+".json", name+".md"
	if err := writeFile(jsonPath, append(text, '\n')); err != nil {
		return "", "", err
	}
	return jsonPath, markdownPath, writeFile(markdownPath, []byte(r.Markdown()))
}

// writeFile puts a file in its place whole.
func writeFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
