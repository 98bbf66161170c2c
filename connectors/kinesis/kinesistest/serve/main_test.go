package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptrace"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest/kinesissuite"
)

// TestMain lets the test's own binary be the command.
func TestMain(m *testing.M) {
	if os.Getenv("KINESISTEST_BE_THE_COMMAND") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// command starts the command and returns its process, its address and, once it has ended, its standard error.
func command(t *testing.T, args ...string) (*exec.Cmd, string, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "KINESISTEST_BE_THE_COMMAND=1")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, stderr)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "kinesistest: listening on ")
	require.True(t, ok, line)
	require.Regexp(t, `^http://127\.0\.0\.1:[1-9]\d*$`, address)
	return cmd, address, stderr
}

func client(address, id, secret string) *kinesis.Client {
	return kinesissuite.NewClient(address, func(o *kinesis.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(id, secret, "")
	})
}

func put(ctx context.Context, c *kinesis.Client, stream string, n int) (failed int32, err error) {
	in := &kinesis.PutRecordsInput{StreamName: &stream}
	for i := range n {
		in.Records = append(in.Records, types.PutRecordsRequestEntry{PartitionKey: new(fmt.Sprint(i)), Data: []byte("data")})
	}
	out, err := c.PutRecords(ctx, in)
	if err != nil {
		return 0, err
	}
	return *out.FailedRecordCount, nil
}

func TestTheCommandServesAndEndsOnASignal(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		cmd, address, stderr := command(t, "-stream", "a,b", "-stream", "c", "-shards", "4", "-unlimited",
			"-fault", "PutRecords nth=2 entries index=0 fail InternalFailure")
		c := client(address, "any", "body")
		list, err := c.ListStreams(t.Context(), &kinesis.ListStreamsInput{})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, list.StreamNames)
		shards, err := c.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: new("c")})
		require.NoError(t, err)
		require.Len(t, shards.Shards, 4)
		for _, want := range []int32{0, 1, 0} {
			failed, err := put(t.Context(), c, "b", 500)
			require.NoError(t, err)
			require.Equal(t, want, failed)
		}
		require.NoError(t, cmd.Process.Signal(sig))
		require.NoError(t, cmd.Wait(), "exit status 0")
		require.Contains(t, stderr.String(),
			"kinesistest: PutRecords requests=3 refused=0 failed=0 unanswered=0 applied=1499 throttled=0 failed_entries=1\n")
	}
}

// A request that hangs does not keep the command from ending.
func TestTheCommandEndsAlthoughARequestHangs(t *testing.T) {
	cmd, address, _ := command(t, "-stream", "s", "-fault", "PutRecords hang")
	sent, failed := make(chan struct{}), make(chan error, 1)
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) },
	})
	go func() {
		_, err := put(ctx, client(address, "any", "body"), "s", 1)
		failed <- err
	}()
	<-sent
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	require.Error(t, <-failed)
}

func TestTheCommandLetsInOnlyItsTestUsers(t *testing.T) {
	_, address, _ := command(t, "-stream", "s", "-credentials", "ID:SECRET", "-records-per-second", "3", "-bytes-per-second", "1000")
	_, err := put(t.Context(), client(address, "ID", "GUESS"), "s", 1)
	require.ErrorContains(t, err, "InvalidSignatureException")
	failed, err := put(t.Context(), client(address, "ID", "SECRET"), "s", 50)
	require.NoError(t, err)
	require.GreaterOrEqual(t, failed, int32(44), "three records a second: one window, or two")
}

func TestAMistakeOnTheCommandLineIsNamed(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-listen 0.0.0.0:4567", "0.0.0.0:4567: must be a loopback address"},
		{"-listen :4567", "must be a loopback address"},
		{"-listen 192.0.2.1:80", "must be a loopback address"},
		{"-listen example.org:80", "must be a loopback address"},
		{"-listen 127.0.0.1", "missing port"},
		{"-stream a/b", "a/b"},
		{"-stream s -shards -1", "Shards: -1"},
		{"-stream s,s", "there are two of that name"},
		{"-stream s -max-record-kib 5", "MaxRecordKiB: 5"},
		{"-fault PutRecords", "want entries"},
		{"-records-per-second 0", "must be at least 1"},
		{"-bytes-per-second -1", "must be at least 1"},
		{"-credentials me", "want id:secret"},
		{"-nonsense", "-nonsense"},
		{"s", "there are flags only"},
	} {
		err := run(t.Context(), strings.Fields(c.args), io.Discard, io.Discard)
		var usage *usageError
		require.ErrorAs(t, err, &usage, c.args)
		require.ErrorContains(t, err, c.want, c.args)
	}
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0", "127.9.9.9:0"} {
		require.NoError(t, loopback(listen))
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	var help bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, io.Discard, &help), flag.ErrHelp)
	for _, name := range []string{
		"-listen", "-stream", "-shards", "-records-per-second", "-bytes-per-second", "-unlimited", "-max-record-kib", "-fault", "-credentials",
	} {
		require.Regexp(t, `(?m)^  `+name+`\b`, help.String())
	}
}

func TestAnAddressInUseIsAFailureAndNoMistake(t *testing.T) {
	_, address, _ := command(t)
	err := run(t.Context(), []string{"-listen", strings.TrimPrefix(address, "http://")}, io.Discard, io.Discard)
	var usage *usageError
	require.False(t, errors.As(err, &usage))
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}
