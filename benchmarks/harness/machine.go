package harness

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// Machine is what the runs ran on. What can't be found out is left empty.
type Machine struct {
	CPU    string            `json:"cpu"`
	Cores  int               `json:"cores"` // that the harness may use
	Memory int64             `json:"memory_bytes"`
	Kernel string            `json:"kernel"`
	System string            `json:"system"` // operating system and architecture, as Go names them
	Go     string            `json:"go"`
	Env    map[string]string `json:"env,omitempty"` // variables that change what a runtime does
}

// Commit is the source that was measured.
type Commit struct {
	Hash  string `json:"hash"` // empty: unknown
	Dirty bool   `json:"dirty,omitempty"`
}

// ThisMachine describes the machine that the caller runs on.
func ThisMachine() Machine {
	m := Machine{
		CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
		Kernel: firstLine("/proc/sys/kernel/osrelease"),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	kB, _ := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	m.Memory = kB << 10
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"} {
		if value, ok := os.LookupEnv(name); ok {
			if m.Env == nil {
				m.Env = map[string]string{}
			}
			m.Env[name] = value
		}
	}
	return m
}

// ThisCommit asks Git for the commit of the working directory.
func ThisCommit(ctx context.Context) Commit {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return Commit{}
	}
	status, err := exec.CommandContext(ctx, "git", "status", "--porcelain", ":/").Output()
	return Commit{Hash: string(bytes.TrimSpace(hash)), Dirty: err != nil || len(status) > 0}
}

// load is the load average over the last minute; 0 where there is none to read.
func load() float64 {
	first, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	l, _ := strconv.ParseFloat(first, 64)
	return l
}

// busy is the CPU seconds of all cores that went to programs, to the kernel or to
// the machine's other guests, since it started; 0 where there is none to read.
func busy() float64 {
	return busySeconds(firstLine("/proc/stat"))
}

// busySeconds reads a line of user, nice, system, idle, iowait, irq, softirq and
// steal, in hundredths of a second.
func busySeconds(stat string) float64 {
	fields := strings.Fields(stat)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	sum := 0.0
	for i, f := range fields[1:9] {
		if i == 3 || i == 4 { // idle, iowait
			continue
		}
		ticks, _ := strconv.ParseFloat(f, 64)
		sum += ticks
	}
	return sum / 100
}

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// field is the value behind "name:" in a file of such lines.
func field(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
