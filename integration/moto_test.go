package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const motoVersion = "5.2.5"

// motoServer runs moto with one change. S3 decides a conditional PUT at once; moto looks whether the object is there and stores
// it later, and another may come between. That was never seen in 500 rounds of 16 and of 64 that raced, but with a pause of 20 ms
// there, 6 to 15 of 16 won. So here its PUTs take turns.
const motoServer = `
import sys, threading
from moto.s3.responses import S3Response
from moto.server import main

turn, put_object = threading.Lock(), S3Response.put_object

def one_at_a_time(self):
    with turn:
        return put_object(self)

S3Response.put_object = one_at_a_time
main(sys.argv[1:])
`

// moto installs the emulator once, starts it on loopback, and gives its address.
func moto(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log")) // a line for each request
	require.NoError(t, err)
	cmd := exec.Command(motoPython(t), "-c", motoServer, "-H", "127.0.0.1", "-p", port)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
			return "http://127.0.0.1:" + port
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log.Name())
			require.NoError(t, err, "moto does not listen: %s", said)
		}
	}
}

// motoPython is a Python that has moto, installed anew when what it needs has changed.
func motoPython(t *testing.T) string {
	t.Helper()
	requirements, err := os.ReadFile("testdata/moto-requirements.txt")
	require.NoError(t, err)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "spillway-integration", "moto-"+motoVersion)
	python, done := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "installed.txt")
	if installed, err := os.ReadFile(done); err == nil && string(installed) == string(requirements) {
		return python
	}
	if _, err := exec.LookPath("python3"); err != nil {
		missing(t, "moto needs python3, which is not installed")
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		{python, "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", "testdata/moto-requirements.txt"},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			missing(t, "moto can't be installed: %v: %v\n%s", command, err, out)
		}
	}
	require.NoError(t, os.WriteFile(done, requirements, 0o644))
	return python
}
