package mailbox

import "slices"

// timerHeap orders timers by time and registration, for container/heap.
type timerHeap []*Timer

func (r *Timer) compare(other *Timer) int {
	if c := r.at.Compare(other.at); c != 0 {
		return c
	}
	if r.number < other.number {
		return -1
	}
	return 1
}

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].compare(h[j]) < 0 }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	r := x.(*Timer)
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil // the heap must not keep what was cancelled
	*h = (*h)[:last]
	r.index = -1
	return r
}

// names lists the timers in order, without disturbing the heap.
func (h timerHeap) names() (names []string) {
	sorted := slices.SortedFunc(slices.Values(h), (*Timer).compare)
	for _, r := range sorted {
		names = append(names, r.name())
	}
	return names
}

func (r *Timer) name() string { return r.mail.name }
