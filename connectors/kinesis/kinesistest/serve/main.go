// Command serve runs an honest Kinesis on a loopback address, for the demo, for scripts and for programs in
// other languages:
//
//	go run ./connectors/kinesis/kinesistest/serve -listen 127.0.0.1:4567 -stream s -shards 4
//
// Once it listens it prints one line on standard output, with the real port when :0 was asked for:
//
//	kinesistest: listening on http://127.0.0.1:4567
//
// SIGINT and SIGTERM end it: it stops to accept, gives requests a second, prints what it counted on standard
// error and exits with 0. State is in memory only. Exit status 2 is a mistake on the command line, 1 any other
// failure.
//
// Without -credentials it lets everybody in, signed or not; hence it listens on loopback addresses only.
// Package [github.com/spillway-go/spillway/connectors/kinesis/kinesistest] says what the server keeps of the
// service, and has the grammar of -fault.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	var usage *usageError
	if errors.As(err, &usage) {
		os.Exit(2)
	}
	os.Exit(1)
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func mistake(format string, args ...any) error {
	return &usageError{fmt.Errorf("kinesistest: "+format, args...)}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	listen, config, faults, err := parse(args, stderr)
	if err != nil {
		return err
	}
	srv, err := kinesistest.New(config)
	if err != nil {
		return &usageError{err}
	}
	srv.Inject(faults...)
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("kinesistest: %w", err)
	}
	hs := &http.Server{Handler: srv, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(ln) }()
	fmt.Fprintf(stdout, "kinesistest: listening on http://%s\n", ln.Addr())
	select {
	case err := <-failed:
		return fmt.Errorf("kinesistest: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if hs.Shutdown(grace) != nil {
		_ = hs.Close() // a fault keeps requests hanging: their connections break off
	}
	<-failed
	report(stderr, srv)
	return nil
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (listen string, c kinesistest.Config, faults []kinesistest.Fault, err error) {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // main reports errors
	fs.StringVar(&listen, "listen", "127.0.0.1:4567", "loopback `address` and port to listen on; port 0 takes a free one")
	var streams, faultTexts, keys list
	fs.Var(&streams, "stream", "`name` of a stream that exists from the start; repeatable, or a list with commas")
	shards := fs.Int("shards", 1, "open shards of each stream")
	fs.IntVar(&c.RecordsPerSecond, "records-per-second", kinesistest.ShardRecords, "records a second and shard")
	fs.IntVar(&c.BytesPerSecond, "bytes-per-second", kinesistest.ShardBytes, "bytes a second and shard, data and keys")
	unlimited := fs.Bool("unlimited", false, "throttle no shard, whatever -records-per-second and -bytes-per-second say")
	maxRecord := fs.Int("max-record-kib", kinesistest.DefaultMaxRecordKiB,
		"largest record of each stream, data and key, in `KiB`: 1024 to 10240")
	fs.Var(&faultTexts, "fault", "`fault` to inject, such as 'PutRecords nth=3 cut after applying'; repeatable")
	fs.Var(&keys, "credentials",
		"`id:secret[:token]` of a test user; repeatable. When given, nobody else is let in and signatures are checked")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(stderr)
			fs.PrintDefaults()
			return "", c, nil, err
		}
		return "", c, nil, &usageError{err}
	}
	if fs.NArg() > 0 {
		return "", c, nil, mistake("%q: there are flags only", fs.Arg(0))
	}
	if c.RecordsPerSecond < 1 || c.BytesPerSecond < 1 {
		return "", c, nil, mistake("-records-per-second and -bytes-per-second must be at least 1; for no limit use -unlimited")
	}
	if *unlimited {
		c.RecordsPerSecond, c.BytesPerSecond = kinesistest.Unlimited, kinesistest.Unlimited
	}
	for _, names := range streams {
		for name := range strings.SplitSeq(names, ",") {
			c.Streams = append(c.Streams, kinesistest.StreamConfig{Name: name, Shards: *shards, MaxRecordKiB: *maxRecord})
		}
	}
	for _, text := range faultTexts {
		f, err := kinesistest.ParseFault(text)
		if err != nil {
			return "", c, nil, &usageError{err}
		}
		faults = append(faults, f)
	}
	for _, k := range keys {
		parts := strings.SplitN(k, ":", 3)
		if len(parts) < 2 {
			return "", c, nil, mistake("-credentials: want id:secret or id:secret:token")
		}
		parts = append(parts, "")
		c.Credentials = append(c.Credentials, kinesistest.Credentials{AccessKeyID: parts[0], SecretAccessKey: parts[1], SessionToken: parts[2]})
	}
	return listen, c, faults, loopback(listen)
}

// loopback refuses an address that others could reach.
func loopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return mistake("-listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return mistake("-listen: %s: must be a loopback address, such as 127.0.0.1:4567: this server keeps nobody out", listen)
}

func report(w io.Writer, srv *kinesistest.Server) {
	counts := srv.Counts()
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[op]; n.Requests > 0 {
			fmt.Fprintf(w, "kinesistest: %s requests=%d refused=%d failed=%d unanswered=%d applied=%d throttled=%d failed_entries=%d\n",
				op, n.Requests, n.Refused, n.Failed, n.Unanswered, n.Applied, n.Throttled, n.FailedEntries)
		}
	}
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }
