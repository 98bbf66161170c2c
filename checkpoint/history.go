package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/statecodec"
)

// Options of a [History]. The zero value is useful.
type Options struct {
	// Retained is how many complete checkpoints are kept, the newest included: with 1 there is none to go back to when that
	// is damaged. Open reads the manifest of each. Default 2; 1 to 1,000.
	Retained int
	// Grace is how old a data file that no manifest names must be before Sweep deletes it: longer than a checkpoint takes,
	// since another process may be about to name it. Default 1 h; at most 10 years. Not used where the store is a [Locker]:
	// its lock says that nobody else writes.
	Grace time.Duration
	// Program is the version that manifests name as their writer's.
	Program string
	// Logger is told what went wrong and was mended. Default: none.
	Logger *slog.Logger
}

const (
	defaultRetained = 2
	maxRetained     = 1000
	defaultGrace    = time.Hour
	maxGrace        = 10 * 365 * 24 * time.Hour
)

// Validate returns a *[limits.Fault] for each field that is out of its bounds, joined.
func (o Options) Validate() error {
	var faults []error
	if o.Retained < 0 || o.Retained > maxRetained {
		bound := fmt.Sprintf("1 to %d", maxRetained)
		faults = append(faults, &limits.Fault{Field: "retained", Value: fmt.Sprint(o.Retained), Bound: bound})
	}
	if o.Grace < 0 || o.Grace > maxGrace {
		faults = append(faults, &limits.Fault{Field: "grace", Value: o.Grace.String(), Bound: "0s to " + maxGrace.String()})
	}
	return errors.Join(faults...)
}

// History is the checkpoints of one job, and one life of a process over them. Any goroutine may call its methods. Write,
// Sweep, RestoredFrom and Close wait for one another; nothing else waits for them.
type History struct {
	folder
	job     Job
	options Options
	epoch   uint64

	turn    sync.Mutex // held by who changes the state
	files   uint64     // data files that this life has begun
	number  uint64     // of the next slot
	pending *attempt
	over    error // why nothing can be written any more
	origin  *Origin
	claims  []claim
	garbage map[string]bool // data files that could not be deleted yet

	mu       sync.Mutex // guards what follows against those without turn; taken after it
	lock     io.Closer  // nil: there is none
	closed   bool
	log      []slot // ascending; never changed in place
	keep     map[uint64]bool
	retained map[uint64]int // by id: how many hold it
	prune    error
}

// Open opens the state of a job and begins an epoch over it: of all processes that open it, the last may write. ctx bounds
// the opening.
//
// Errors: a *[NameError] for each name of the job that is not allowed and a *[limits.Fault] for each option, joined;
// *[LockedError] while another process has the state, if the store is a [Locker]; *[OtherJobError] if a checkpoint in its
// place belongs to another job; *[statecodec.NewerError], wrapped, if a newer program has written there, and nothing is
// changed then; *[StaleEpochError] if another process opened it in the same moment; else an error of the store, wrapped.
// That a checkpoint is damaged is told by Newest and Find.
func Open(ctx context.Context, s Store, job Job, o Options) (*History, error) {
	if err := errors.Join(job.Validate(), o.Validate()); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	o.Retained = cmp.Or(o.Retained, defaultRetained)
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	job = job.orDefault()
	h := &History{
		folder: folderOf(s, job), job: job, options: o,
		garbage: map[string]bool{}, keep: map[uint64]bool{}, retained: map[uint64]int{},
	}
	if l, ok := s.(Locker); ok {
		var err error
		if h.lock, err = l.Lock(ctx, h.path+lockName); err != nil {
			return nil, failed("lock the state", err)
		}
		h.options.Grace = 0
	}
	if err := h.begin(ctx); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// begin takes the next slot for an epoch record. Of those who open at the same time, one gets it, and the others try again
// behind it.
func (h *History) begin(ctx context.Context) error {
	for {
		before := h.number
		slots, err := h.slots(ctx, h.log)
		if err != nil {
			return failed("open the state", err)
		}
		for _, s := range slots {
			if s.m != nil && s.m.owner() != h.job {
				return &OtherJobError{Path: h.place(slotName(s.id)), Found: s.m.owner(), Want: h.job}
			}
			if errors.As(s.err, new(*statecodec.NewerError)) {
				return h.fault(slots, s) // what it names is not known, so nothing could ever be deleted
			}
		}
		h.log = slots
		if h.number, h.epoch = next(slots); h.number <= before {
			return failed("begin an epoch", fmt.Errorf("%s: %w, says the store, and does not list it", slotName(before), ErrExists))
		}
		h.inherit()
		text, err := h.record().encode()
		if err == nil {
			err = h.create(ctx, text)
		}
		if err == nil {
			err = h.confirm(ctx, text)
		}
		if err == nil {
			h.number++
			return nil
		}
		if !errors.Is(err, ErrExists) {
			return failed("begin an epoch", err)
		}
	}
}

// Job is whose state it is, with its instance filled in.
func (h *History) Job() Job { return h.job }

// Path is the job's folder in the store, for a person.
func (h *History) Path() string { return strings.TrimSuffix(h.place(""), "/") }

// Epoch counts the lives over this state: 1 for the first process that opened it, and more for each that follows. No two
// have the same, also after a crash of the machine. It is 1 more than that of the life before, unless a slot was damaged.
func (h *History) Epoch() uint64 { return h.epoch }

// Newest is the newest complete checkpoint, all its files there in their sizes; nil, nil: there is none.
//
// It never falls back to an older one by itself, since that sends again what was settled since: one that is not whole, or a
// slot above it that cannot be read, is a *[DamagedError], which says what to do. What the files hold is not
// read: see [Checkpoint.Verify].
func (h *History) Newest(ctx context.Context) (*Checkpoint, error) {
	slots, err := h.view()
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(slots) {
		if s.m == nil || s.complete() {
			return h.found(ctx, slots, s)
		}
	}
	return nil, nil
}

// Find is checkpoint id, as Newest is the newest. If there is none, a *[NotFoundError] says which there are.
func (h *History) Find(ctx context.Context, id uint64) (*Checkpoint, error) {
	slots, err := h.view()
	if err != nil {
		return nil, err
	}
	if s, ok := at(slots, id); ok && (s.m == nil || s.complete()) {
		return h.found(ctx, slots, s)
	}
	none := &NotFoundError{ID: id}
	for _, s := range slots {
		if s.complete() {
			none.Have = append(none.Have, s.id)
		}
	}
	return nil, none
}

func (h *History) found(ctx context.Context, slots []slot, s slot) (*Checkpoint, error) {
	if s.m == nil {
		return nil, h.fault(slots, s)
	}
	c := h.checkpoint(slots, s)
	if err := c.Check(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// view is the log for those who do not change it.
func (h *History) view() ([]slot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	return h.log, nil
}

// Close waits for a Write and lets another process have the state. It may be called again.
func (h *History) Close() error {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	if h.lock == nil {
		return nil
	}
	if err := h.lock.Close(); err != nil {
		return failed("close the state", err)
	}
	return nil
}
