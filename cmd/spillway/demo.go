package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// demo is `spillway demo`: the main job on a Kinesis of its own, with
// throttling, faults and a crash in the middle. What it claims in the end it has
// counted in the stream.
type demo struct {
	out    io.Writer
	server *kinesistest.Server
	orders string // the file
	kills  int
	url    string
	dir    string
	begun  time.Time
}

const (
	demoOrders    = 30_000
	demoCustomers = 500
	demoShards    = 4
	demoStream    = "orders"
)

var demoFaults = []string{
	"PutRecords entries share=0.03 seed=7 fail InternalFailure",
	"PutRecords every=25 cut after applying",
	"PutRecords share=0.02 seed=3 delay 300ms",
}

const demoConfig = `# One document is one job. Every value can also be a flag or an environment variable: see spillway run --help.
name: demo
source:
  file: {path: %q}
  key: {json: customer}
sink:
  kinesis:
    stream: %s
    region: us-east-1
    endpoint: %q
    writer: {order: per_key, held: {entries: 5000}, in_flight: {requests: 8}}
state: {url: "file:%s", interval: 200ms}
dead_letter: {file: {path: %q}}
`

func runDemo(p process) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := &demo{out: p.stdout, begun: time.Now()}
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(p.stderr, "spillway demo:", err)
		return exitFailed
	}
	return exitSettled
}

func (d *demo) run(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "spillway-demo-"); err != nil {
		return err
	}
	defer os.RemoveAll(d.dir)
	if err := d.serve(); err != nil {
		return err
	}
	config, err := d.prepare()
	if err != nil {
		return err
	}
	d.say("an embedded Kinesis with %d shards of %d records/s each, and these faults:", demoShards, kinesistest.ShardRecords)
	for _, f := range demoFaults {
		d.say("  %s", f)
	}
	d.say("%d orders of %d customers in a file; order per customer is asked for", demoOrders, demoCustomers)

	first, err := d.start(ctx, config)
	if err != nil {
		return err
	}
	if err := d.watch(first, demoOrders*2/5); err != nil {
		return err
	}
	if err := first.cmd.Process.Kill(); err != nil {
		return err
	}
	<-first.ended
	d.kills++
	d.say("SIGKILL: worker %d is gone, with whatever it held in memory", first.cmd.Process.Pid)
	second, err := d.start(ctx, config)
	if err != nil {
		return err
	}
	if err := d.watch(second, untilItEnds); err != nil {
		return err
	}
	return d.verdict()
}

// serve starts the embedded Kinesis on a loopback port of its own.
func (d *demo) serve() (err error) {
	d.server, err = kinesistest.New(kinesistest.Config{
		Streams: []kinesistest.StreamConfig{{Name: demoStream, Shards: demoShards}},
	})
	if err != nil {
		return err
	}
	for _, f := range demoFaults {
		d.server.Inject(kinesistest.MustParseFault(f))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.url = "http://" + l.Addr().String()
	go func() { _ = http.Serve(l, d.server) }() // it ends with the process
	return nil
}

// prepare writes the orders and the job's document.
func (d *demo) prepare() (config string, err error) {
	d.orders = filepath.Join(d.dir, "orders.jsonl")
	f, err := os.OpenFile(d.orders, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(f)
	for n := range demoOrders {
		// Every customer's orders are numbered through, so that order shows in the stream.
		fmt.Fprintf(w, `{"order":%d,"customer":"c%03d","item":"sku-%04d","amount":%d.%02d}`+"\n",
			n, n*7919%demoCustomers, n%1999, 1+n%250, n%100)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return "", err
	}
	config = filepath.Join(d.dir, "demo.yaml")
	return config, os.WriteFile(config, fmt.Appendf(nil, demoConfig, d.orders, demoStream, d.url,
		filepath.Join(d.dir, "state"), filepath.Join(d.dir, "dead.jsonl")), 0o600)
}

type demoWorker struct {
	cmd   *exec.Cmd
	ended chan error
}

// start runs this program again as a worker process.
func (d *demo) start(ctx context.Context, config string) (*demoWorker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &demoWorker{cmd: exec.CommandContext(ctx, self, "run", config), ended: make(chan error, 1)}
	w.cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=demo", "AWS_SECRET_ACCESS_KEY=demo", "AWS_EC2_METADATA_DISABLED=true")
	w.cmd.Stdout = d.out
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	d.say("worker %d starts: spillway run demo.yaml", w.cmd.Process.Pid)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, what, ok := strings.Cut(lines.Text(), "restored checkpoint="); ok {
				d.say("worker %d restored checkpoint=%s", w.cmd.Process.Pid, what)
			} else if strings.Contains(lines.Text(), "ERROR") {
				d.say("worker %d: %s", w.cmd.Process.Pid, lines.Text())
			}
		}
		w.ended <- w.cmd.Wait()
	}()
	return w, nil
}

const untilItEnds = math.MaxInt64

// watch tells each second how far the stream is, until it holds that many records or the worker ends.
func (d *demo) watch(w *demoWorker, records int64) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case err := <-w.ended:
			if err != nil {
				return fmt.Errorf("the worker failed: %w", err)
			}
			if records != untilItEnds {
				return errors.New("the worker ended before it could be killed")
			}
			return nil
		case <-tick.C:
		}
		c := d.server.Counts()["PutRecords"]
		if c.Applied >= records {
			return nil
		}
		if n%10 == 0 {
			d.say("  %6d records stored, %d entries throttled, %d failed", c.Applied, c.Throttled, c.FailedEntries)
		}
	}
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "%5.1fs  %s\n", time.Since(d.begun).Seconds(), fmt.Sprintf(format, args...))
}

// verdict counts what the stream holds.
func (d *demo) verdict() error {
	copies := make([]int, demoOrders)
	newest := map[string]int{}
	disordered := 0
	for r := range d.server.All(demoStream) {
		var o struct{ Order int }
		if err := json.Unmarshal(r.Data, &o); err != nil {
			return fmt.Errorf("the stream holds something else: %w", err)
		}
		if copies[o.Order]++; copies[o.Order] > 1 {
			continue
		}
		if last, ok := newest[r.PartitionKey]; ok && last > o.Order {
			disordered++
		}
		newest[r.PartitionKey] = o.Order
	}
	delivered, duplicates := 0, 0
	for _, c := range copies {
		if c > 0 {
			delivered++
			duplicates += c - 1
		}
	}
	file, err := os.ReadFile(d.orders)
	if err != nil {
		return err
	}
	accepted := bytes.Count(file, []byte("\n"))
	c := d.server.Counts()["PutRecords"]
	lost, order := accepted-delivered, "kept"
	if disordered > 0 {
		order = fmt.Sprintf("BROKEN %d times", disordered)
	}
	fmt.Fprintf(d.out, "\ncounted by reading the file and the stream:\n"+
		"  accepted       %7d   lines of the file\n"+
		"  delivered      %7d   different orders in the stream\n"+
		"  duplicates     %7d   copies too many: a cut connection or the crash hid that they were stored\n"+
		"  lost           %7d\n"+
		"  order by key   %7s   first occurrences of each of %d customers\n"+
		"on the way: %d requests, %d entries throttled, %d failed, %d answers cut off, %d SIGKILL; %.1f s\n",
		accepted, delivered, duplicates, lost, order, len(newest),
		c.Requests, c.Throttled, c.FailedEntries, c.Unanswered, d.kills, time.Since(d.begun).Seconds())
	if lost > 0 || disordered > 0 {
		return errors.New("the promises were broken")
	}
	fmt.Fprintln(d.out, "lost 0")
	return nil
}
