// Package flink runs Apache Flink's real AsyncSinkWriter and its state serializer,
// on Flink's own mailbox and timers, against destinations of ours.
//
// Flink's jars come from Maven Central; the programs beside this file are compiled
// against them. Both are kept in the user's cache folder, so only the first session
// needs Maven and the network.
package flink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed pom.xml *.java
var sources embed.FS

// Maven's plug-in that fetches the jars and lists them.
const dependencyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

// Flink is the peer. The arguments of a run are options of the JVM, a class and its arguments.
type Flink struct {
	Cache string // folder; default: spillway-benchmarks in the user's cache folder

	classpath string
}

// Prepare fetches Flink and compiles the programs, unless the cache has both.
func (f *Flink) Prepare(ctx context.Context) (string, error) {
	java, err := run(ctx, "java", "-version")
	if err != nil {
		return "", err
	}
	cache := f.Cache
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "spillway-benchmarks")
	}
	hash, version, err := describe()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "flink-"+version+"-"+hash)
	if f.classpath, err = ready(dir); err != nil {
		if err := build(ctx, cache, dir); err != nil {
			return "", err
		}
		if f.classpath, err = ready(dir); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Flink %s, %s", version, jvm(java)), nil
}

// Command starts a JVM.
func (f *Flink) Command(args []string) []string {
	return append([]string{"java", "-cp", f.classpath}, args...)
}

// jarList is the file that Maven writes the paths of the jars into.
const jarList = "jars"

// ready is the class path of what was built in dir; an error: it is not whole.
func ready(dir string) (string, error) {
	jars, err := os.ReadFile(filepath.Join(dir, jarList))
	if err != nil {
		return "", err
	}
	paths := append([]string{filepath.Join(dir, "classes")}, filepath.SplitList(string(bytes.TrimSpace(jars)))...)
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return "", err
		}
	}
	return strings.Join(paths, string(filepath.ListSeparator)), nil
}

// build makes dir; it appears whole or not at all.
func build(ctx context.Context, cache, dir string) (err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(cache, ".flink-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := os.CopyFS(filepath.Join(work, "src"), sources); err != nil {
		return err
	}
	list := filepath.Join(work, jarList)
	_, err = run(ctx, "mvn", "-q", "-B", "-f", filepath.Join(work, "src", "pom.xml"),
		"-Dmaven.repo.local="+filepath.Join(cache, "maven"), "-Dmdep.outputFile="+list, dependencyPlugin+":build-classpath")
	if err != nil {
		return err
	}
	jars, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	programs, err := filepath.Glob(filepath.Join(work, "src", "*.java"))
	if err != nil {
		return err
	}
	compile := []string{"--release", "17", "-nowarn", "-cp", string(bytes.TrimSpace(jars)), "-d", filepath.Join(work, "classes")}
	if _, err := run(ctx, "javac", append(compile, programs...)...); err != nil {
		return err
	}
	// What is there is not whole, or another session was faster: then its work is as good.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(work, dir)
}

// run returns what a tool printed, or an error that says it.
func run(ctx context.Context, tool string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not on the PATH: Flink needs a JDK of version 17 or later and Maven", tool)
	}
	if err != nil {
		const most = 500
		if len(out) > most {
			out = append(out[:most], "..."...)
		}
		return "", fmt.Errorf("%s: %w: %s", tool, err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

var flinkVersion = regexp.MustCompile(`<flink\.version>(.+)</flink\.version>`)

// describe is a hash of all sources, and the version of Flink that they ask for.
func describe() (hash, version string, err error) {
	sum := sha256.New()
	err = fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		if m := flinkVersion.FindSubmatch(text); m != nil {
			version = string(m[1])
		}
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), version, err
}

// jvm is the line in which java -version names the runtime with its build.
func jvm(version string) string {
	for line := range strings.Lines(version) {
		if strings.Contains(line, "Runtime") {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(version)
}
