package core

// heap is a binary min-heap by a key that does not change while an item is in it.
type heap[T any] struct {
	items []T
	key   func(T) int64
}

func (h *heap[T]) len() int { return len(h.items) }
func (h *heap[T]) min() T   { return h.items[0] }

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	i := len(h.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h.key(h.items[up]) <= h.key(h.items[i]) {
			break
		}
		h.items[up], h.items[i] = h.items[i], h.items[up]
		i = up
	}
}

func (h *heap[T]) pop() T {
	top, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	var zero T
	h.items[last] = zero
	h.items = h.items[:last]
	h.sink()
	return top
}

// sink restores the order after the key of the root has grown.
func (h *heap[T]) sink() {
	for i, n := 0, len(h.items); ; {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < n && h.key(h.items[c]) < h.key(h.items[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}
