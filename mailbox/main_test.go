package mailbox

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// executor is what Loop and Locked have in common beyond Executor.
type executor interface {
	Executor
	Quiesce()
	Close(ctx context.Context) (Left, error)
	Pending() []string
	Running() string
	String() string
}

// both proves a promise on either executor, in a bubble with a clock of its own.
func both(t *testing.T, prove func(t *testing.T, ex executor)) {
	t.Run("Loop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { prove(t, new(Loop)) })
	})
	t.Run("Locked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { prove(t, new(Locked)) })
	})
}

// inside runs f in a turn.
func inside(t *testing.T, ex Executor, f func()) {
	t.Helper()
	require.NoError(t, ex.Enter("test"))
	defer ex.Leave()
	f()
}

// spawn runs f in a turn of another goroutine.
func spawn(ex Executor, name string, f func()) {
	go func() { _ = Do(ex, name, f) }()
}

// settle runs inside whatever waits.
func settle(t *testing.T, ex Executor) {
	t.Helper()
	inside(t, ex, func() {
		for ran := true; ran; {
			var err error
			ran, err = ex.TryYield()
			require.NoError(t, err)
		}
	})
}

// journal is a list of names that any goroutine may extend.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// mail returns a mail that writes line.
func (j *journal) mail(line string) func() { return func() { j.add(line) } }

func (j *journal) read() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string{}, j.lines...)
}

// endedContext is a context that has ended already.
func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
