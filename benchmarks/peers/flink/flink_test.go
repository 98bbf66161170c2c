package flink

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionIsThatOfThePOM(t *testing.T) {
	hash, version, err := describe()
	require.NoError(t, err)
	require.Len(t, hash, 12)
	require.Regexp(t, `^\d+\.\d+\.\d+$`, version)
}

// put makes a file that can be run.
func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
}

// tools puts stand-ins for java, mvn and javac on the PATH. Maven's lists the jars
// that are there; the compiler's makes the folder of classes.
func tools(t *testing.T, jars string) (bin string) {
	bin = t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	put(t, filepath.Join(bin, "java"), "#!/bin/sh\necho 'openjdk version \"17\"' >&2\necho 'Some Runtime (build 17)' >&2\n")
	put(t, filepath.Join(bin, "mvn"), "#!/bin/sh\nfor a in \"$@\"; do case $a in -Dmdep.outputFile=*) printf %s '"+jars+"' >\"${a#*=}\";; esac; done\n")
	put(t, filepath.Join(bin, "javac"), "#!/bin/sh\nwhile [ \"$1\" != -d ]; do shift; done\nmkdir \"$2\"\n")
	return bin
}

func TestWhatWasBuiltOnceIsUsedAgain(t *testing.T) {
	jar := filepath.Join(t.TempDir(), "a.jar")
	put(t, jar, "")
	bin := tools(t, jar)
	f := &Flink{Cache: t.TempDir()}
	version, err := f.Prepare(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `^Flink [0-9.]+, Some Runtime \(build 17\)$`, version)
	command := f.Command([]string{"-Xmx1g", "bench.Write"})
	require.Equal(t, "java", command[0])
	require.Contains(t, command[2], jar)
	require.Equal(t, []string{"-Xmx1g", "bench.Write"}, command[3:])

	for _, tool := range []string{"mvn", "javac"} {
		put(t, filepath.Join(bin, tool), "#!/bin/sh\nexit 1\n")
	}
	again := &Flink{Cache: f.Cache}
	_, err = again.Prepare(t.Context())
	require.NoError(t, err, "neither is asked")
	require.Equal(t, command, again.Command([]string{"-Xmx1g", "bench.Write"}))

	require.NoError(t, os.Remove(jar))
	_, err = again.Prepare(t.Context())
	require.ErrorContains(t, err, "mvn: exit status 1", "a jar that is gone is fetched again")
}

func TestAToolThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := (&Flink{Cache: t.TempDir()}).Prepare(t.Context())
	require.EqualError(t, err, "java is not on the PATH: Flink needs a JDK of version 17 or later and Maven")
}

func TestTheReasonOfAFailureIsMavensOwnAndNothingIsLeft(t *testing.T) {
	bin := tools(t, "")
	put(t, filepath.Join(bin, "mvn"), "#!/bin/sh\necho 'no route to the repository'\nexit 1\n")
	cache := t.TempDir()
	_, err := (&Flink{Cache: cache}).Prepare(t.Context())
	require.EqualError(t, err, "mvn: exit status 1: no route to the repository")
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestALongComplaintIsCut(t *testing.T) {
	bin := tools(t, "")
	put(t, filepath.Join(bin, "javac"), "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 0; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done\nexit 2\n")
	_, err := (&Flink{Cache: t.TempDir()}).Prepare(t.Context())
	require.ErrorContains(t, err, "javac: exit status 2: aaa")
	require.Less(t, len(err.Error()), 600)
}

func TestACacheThatCannotBeIsSaid(t *testing.T) {
	tools(t, "")
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "")
	_, err := (&Flink{Cache: filepath.Join(file, "cache")}).Prepare(t.Context())
	require.ErrorContains(t, err, file)
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	_, err = (&Flink{}).Prepare(t.Context())
	require.ErrorContains(t, err, "HOME")
}

func TestAListedJarThatIsNotThereIsAnError(t *testing.T) {
	tools(t, filepath.Join(t.TempDir(), "none.jar"))
	_, err := (&Flink{Cache: t.TempDir()}).Prepare(t.Context())
	require.ErrorContains(t, err, "none.jar")
}

func TestMavenThatListsNothingIsAnError(t *testing.T) {
	bin := tools(t, "")
	put(t, filepath.Join(bin, "mvn"), "#!/bin/sh\n")
	_, err := (&Flink{Cache: t.TempDir()}).Prepare(t.Context())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAJVMIsNamedByItsRuntimeOrByAllThatItSays(t *testing.T) {
	require.Equal(t, "Some Runtime (build 17)", jvm("Picked up X\nopenjdk 17\nSome Runtime (build 17)\nVM\n"))
	require.Equal(t, "something", jvm("something\n"))
}
