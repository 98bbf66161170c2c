package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/connectors/file"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/pipeline"
	"github.com/spillway-go/spillway/stream"
)

// source is a source of lines.
type source interface {
	stream.Source
	TooLong(stream.Record) error
}

func openSource(c config.Source, stdin io.Reader) (source, error) {
	if c.File != nil {
		return file.Open(*c.File)
	}
	return file.NewStdin(stdin, *c.Stdin)
}

// newJob puts a job together.
func newJob(p process, loaded *config.Loaded, src source, state pipeline.State, letters pipeline.DeadLetters, log *slog.Logger) pipeline.Job[kinesis.Record] {
	j, k := &loaded.Job, loaded.Job.Sink.Kinesis
	return pipeline.Job[kinesis.Record]{
		Name: j.Name, Instance: j.Instance,
		Source: src, Convert: newConverter(j.Source.Key, src).record,
		Open: func(ctx context.Context, c asyncsink.Config) (*asyncsink.Writer[kinesis.Record], error) {
			client, err := p.connect(ctx, k.Config, log)
			if err != nil {
				return nil, loaded.Explain("sink.kinesis", err)
			}
			w, err := kinesis.NewWriter(ctx, client, k.Config, c)
			return w, loaded.Explain("sink.kinesis", err)
		},
		Writer:      k.Writer,
		State:       state,
		DeadLetters: letters,
		Deadline:    j.Shutdown.Deadline,
		Logger:      log,
	}
}

// letterFile writes the runner's dead letters to a file.
type letterFile struct{ to *file.DeadLetters }

func (l letterFile) Write(ctx context.Context, letters []pipeline.DeadLetter) error {
	lines := make([]file.DeadLetter, len(letters))
	for i, letter := range letters {
		lines[i] = file.DeadLetter(letter)
	}
	return l.to.Write(ctx, lines)
}

// openLetters opens the dead-letter output; nil: there is none.
func openLetters(c config.DeadLetter) (pipeline.DeadLetters, func() error, error) {
	if c.File == nil {
		return nil, func() error { return nil }, nil
	}
	f, err := file.OpenDeadLetters(*c.File)
	if err != nil {
		return nil, nil, err
	}
	return letterFile{f}, f.Close, nil
}
