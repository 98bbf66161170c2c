package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesThatCannotBeFoldersAreRefusedAllAtOnce(t *testing.T) {
	for _, name := range []string{"..", ".", ".hidden", "a/b", `a\b`, "c:", "a\nb", " a", "a ", "\xff", strings.Repeat("n", 201)} {
		_, err := OpenDir(t.TempDir(), Job{Name: name, Instance: name})
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

func TestAnotherJobsFolderIsRefused(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, orders)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, os.Rename(filepath.Join(root, "orders"), filepath.Join(root, "invoices")))

	_, err = OpenDir(root, Job{Name: "invoices"})
	var other *OtherJobError
	require.ErrorAs(t, err, &other)
	require.Equal(t, OtherJobError{
		Path: filepath.Join(root, "invoices", "0", "JOB"), Found: orders, Want: Job{Name: "invoices", Instance: "0"},
	}, *other)
	require.ErrorContains(t, err, `belongs to job "orders", instance "0", not to job "invoices", instance "0"`)
}

func TestAWholeRootCanBeMoved(t *testing.T) {
	root := t.TempDir()
	from, to := filepath.Join(root, "from"), filepath.Join(root, "to")
	d, err := OpenDir(from, orders)
	require.NoError(t, err)
	require.NoError(t, d.Write(1, snapshotOf(orders, 1)))
	require.NoError(t, d.Close())
	require.NoError(t, os.Rename(from, to))
	d, err = OpenDir(to, orders)
	require.NoError(t, err)
	defer d.Close()
	c, err := d.Latest()
	require.NoError(t, err)
	require.Equal(t, uint64(1), c.ID)
}

func TestDamagedSmallFilesAreNamedWithWhatToDo(t *testing.T) {
	for name, content := range map[string]string{jobFile: "{", epochFile: ""} {
		root := t.TempDir()
		d, err := OpenDir(root, orders)
		require.NoError(t, err)
		require.NoError(t, d.Close())
		path := filepath.Join(d.Path(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err = OpenDir(root, orders)
		var damaged *DamagedError
		require.ErrorAs(t, err, &damaged)
		require.Equal(t, path, damaged.Path)
		require.ErrorContains(t, err, path+" is damaged at byte 0: ")
		require.ErrorContains(t, err, damaged.Advice)

		if name == jobFile { // the advice works
			require.NoError(t, os.Remove(path))
			d, err = OpenDir(root, orders)
			require.NoError(t, err)
			require.Equal(t, uint64(2), d.Epoch())
			require.NoError(t, d.Close())
		}
	}
}
