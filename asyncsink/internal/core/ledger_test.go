package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLedgerBalances(t *testing.T) {
	for name, c := range map[string]struct {
		books   Ledger
		balance bool
	}{
		"empty":                  {Ledger{}, true},
		"accepted and buffered":  {Ledger{Accepted: Count{2, 20}, Buffered: Count{2, 20}}, true},
		"in every place":         {Ledger{Accepted: Count{4, 40}, Restored: Count{1, 5}, Delivered: Count{1, 10}, Dead: Count{1, 10}, Unwritten: Count{1, 10}, Buffered: Count{1, 10}, InFlight: Count{1, 5}}, true},
		"an entry is lost":       {Ledger{Accepted: Count{2, 20}, Delivered: Count{1, 20}}, false},
		"an entry settles twice": {Ledger{Restored: Count{1, 10}, Delivered: Count{2, 20}}, false},
		"bytes are lost":         {Ledger{Accepted: Count{1, 20}, InFlight: Count{1, 19}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.books.check()
			if c.balance {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "does not balance")
			}
		})
	}
}

func TestHeldIsWhatCountsAgainstTheCaps(t *testing.T) {
	l := Ledger{
		Accepted: Count{99, 99}, Delivered: Count{50, 50}, Dead: Count{7, 7},
		Unwritten: Count{1, 10}, Buffered: Count{2, 20}, InFlight: Count{4, 40},
	}
	require.Equal(t, Count{7, 70}, l.Held())
}
