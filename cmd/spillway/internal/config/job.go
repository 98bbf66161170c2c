package config

import (
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/file"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/pipeline"
)

// Job is a document.
type Job struct {
	// Name is the job's; its state lies under it. Required; letters, digits and the like, since it names a folder.
	Name string `yaml:"name"`
	// Instance tells the processes of a job that run at the same time apart: each has its own. Default 0.
	Instance string `yaml:"instance"`

	Source     Source     `yaml:"source"`
	Sink       Sink       `yaml:"sink"`
	State      State      `yaml:"state"`
	DeadLetter DeadLetter `yaml:"dead_letter"`
	Shutdown   Shutdown   `yaml:"shutdown"`
}

// Source says where records come from: one of its parts.
type Source struct {
	// File reads the lines of a file, to its end.
	File *file.Config `yaml:"file"`
	// Stdin reads the lines of standard input. They can't be replayed: what is in no complete checkpoint is lost in a crash.
	Stdin *file.StdinConfig `yaml:"stdin"`
	// Key says where a record's key is. Default: each record gets a random key.
	Key *Key `yaml:"key"`
}

// Key says where a record's key is.
type Key struct {
	// JSON is the name of a top-level field, a string or a number, of records that are JSON objects. A record without it is broken.
	JSON string `yaml:"json"`
}

// Sink says where records go: one of its parts.
type Sink struct {
	// Kinesis writes to an Amazon Kinesis stream.
	Kinesis *Kinesis `yaml:"kinesis"`
}

// Kinesis is the stream, and how it is written to.
type Kinesis struct {
	kinesis.Config `yaml:",inline"`
	Writer         asyncsink.Config `yaml:"writer"`
}

// State says where checkpoints are kept, how often one is taken, and what is in it.
type State struct {
	// URL is where: file: and a local folder, such as file:state, or a bucket of S3, or of what speaks its protocol, such as
	// s3://bucket/prefix?region=eu-central-1. The state lies in it under name/instance. Default: there is no
	// state; a restart begins anew.
	URL string `yaml:"url"`
	// Interval is the time between the beginnings of two checkpoints; one that takes longer delays the next. Default 1 s; 1 ms to 24 h.
	Interval time.Duration `yaml:"interval"`
	// MinPause is the least time from the end of one checkpoint to the beginning of the next. Default 0; at most 24 h.
	MinPause time.Duration `yaml:"min_pause"`
	// Timeout is how long a checkpoint may take; then it has failed. Default 10 min; 1 ms to 24 h.
	Timeout time.Duration `yaml:"timeout"`
	// Tolerate is how many checkpoints may fail in a row before the job does. Default 0: any number; the newest complete one
	// stays, and the log says so each time.
	Tolerate int `yaml:"tolerate"`
	// Retained is how many complete checkpoints are kept. Default 2; 1 to 1,000.
	Retained int `yaml:"retained"`
	// Recover is what a checkpoint holds: state, all that is held, or replay, the position of the source up to which all is
	// settled; what lies behind it is then read and sent again. For sources that can be read again. Default state.
	Recover pipeline.Recover `yaml:"recover"`
}

// DeadLetter says where records go that can't be delivered.
type DeadLetter struct {
	// File appends them to a file, as lines of JSON. Default: there is none, and the first such record ends the job.
	File *file.DeadLetterConfig `yaml:"file"`
}

// Shutdown says how a job ends when it is asked to.
type Shutdown struct {
	// Deadline is how long what is held may still be delivered, before the rest is saved. Default 30 s; 1 ms to 24 h.
	Deadline time.Duration `yaml:"deadline"`
}

// Settings are what the command line and the environment say about the process, and a document does not.
type Settings struct {
	// Output is what the last line of standard output is: text, or a JSON object. Default text.
	Output Format `yaml:"output"`
	// LogLevel is the least that is logged on standard error. Default info.
	LogLevel Level `yaml:"log-level"`
	// LogFormat is what a line of the log is: text, or a JSON object. Default text.
	LogFormat Format `yaml:"log-format"`

	// Restore is the checkpoint to begin with: newest, the number of one of this job, or the URL of a manifest, such as
	// file:state/orders/0/chk-00000000000000000042, also of another job or store. Default newest, if there is one.
	Restore string `yaml:"restore"`
	// Claim makes the checkpoint of restore the job's own, which deletes it once newer ones have taken its place. Default: it is never
	// touched.
	Claim bool `yaml:"claim"`
	// SkipDamaged goes on without entries of the state that can't be read. The damaged bytes are kept under quarantine, beside the
	// checkpoints, and logged. Default: damage is refused.
	SkipDamaged bool `yaml:"skip-damaged"`
}

// Format is text or json. Empty: text.
type Format string

// JSON as a Format.
const JSON Format = "json"

// Level is debug, info, warn or error. Empty: info.
type Level string
