package core

import "fmt"

// Names as configurations write them.
var (
	orderNames    = []string{"unordered", "per_key", "total"}
	rejectedNames = []string{"go_on", "divert", "stop"}
)

func (o Order) String() string      { return nameOf(orderNames, int(o)) }
func (o OnRejected) String() string { return nameOf(rejectedNames, int(o)) }

// MarshalText writes the name.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads unordered, per_key or total.
func (o *Order) UnmarshalText(text []byte) error { return setName(o, orderNames, string(text)) }

// MarshalText writes the name.
func (o OnRejected) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads go_on, divert or stop.
func (o *OnRejected) UnmarshalText(text []byte) error {
	return setName(o, rejectedNames, string(text))
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}

func setName[T ~uint8](v *T, names []string, text string) error {
	for i, n := range names {
		if n == text {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %v", text, names)
}
