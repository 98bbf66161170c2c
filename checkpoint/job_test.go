package checkpoint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesThatCannotBeFoldersAreRefusedAllAtOnce(t *testing.T) {
	for _, name := range []string{"..", ".", ".hidden", "a/b", `a\b`, "c:", "a\nb", " a", "a ", "\xff", strings.Repeat("n", 201)} {
		_, err := Open(t.Context(), newMemory(), Job{Name: name, Instance: name}, Options{})
		var fault *NameError
		require.ErrorAs(t, err, &fault, "%q", name)
		require.Equal(t, "name", fault.Field)
		require.Equal(t, name, fault.Value)
		require.ErrorContains(t, err, "\ninstance: ", "%q: the second fault as well", name)
	}
	require.EqualError(t, Job{}.Validate(), `name: "": must be set`)
	for _, name := range []string{"orders", "k2k", "Aufträge 2", "a.b_c-d", strings.Repeat("n", 200)} {
		require.NoError(t, Job{Name: name, Instance: name}.Validate())
	}
}
