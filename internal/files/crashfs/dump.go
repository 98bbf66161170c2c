package crashfs

import (
	"errors"
	"os"
	"path/filepath"
)

// Dump writes what a process sees into a folder of the real file system, so that another process can go on from it: / is
// dir, which must be empty or not there. Names of one file stay that, and times of files are kept.
func (f *FS) Dump(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return dump(f.root, dir, map[*node]string{})
}

// dump writes what lies in a folder; at: where the files are that were written.
func dump(folder *node, to string, at map[*node]string) error {
	for name, n := range folder.seen {
		path := filepath.Join(to, name)
		var err error
		switch first, linked := at[n]; {
		case n.dir:
			if err = os.Mkdir(path, 0o700); err == nil {
				err = dump(n, path, at)
			}
		case linked:
			err = os.Link(first, path)
		default:
			at[n] = path
			err = dumpFile(n, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func dumpFile(n *node, path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(n.data)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Chtimes(path, n.modified, n.modified)
}
