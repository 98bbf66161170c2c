package suites

import (
	"errors"
	"flag"
	"io"
	"os"
)

// plain is what a disk gives to a program that does nothing but write or read the
// bytes of a state, from start to end.
type plain struct {
	n, size, warm, repeats int
	dir                    string
}

const plainBlock = 256 << 10 // bytes a call, as an Encoder's

func (p *plain) flags(f *flag.FlagSet) {
	f.IntVar(&p.n, "n", million, "`entries`")
	f.IntVar(&p.size, "size", 1024, "`bytes` of an entry's data")
	f.IntVar(&p.warm, "warm", 1, "`repetitions` before those that are measured")
	f.IntVar(&p.repeats, "repeats", 3, "`repetitions` that are measured")
	f.StringVar(&p.dir, "dir", "", "`folder` for the file; default: that of temporary files")
}

func plainWriteProgram(f *flag.FlagSet) func() (figures, error) {
	p := &plain{}
	p.flags(f)
	return func() (figures, error) {
		state, err := encodedState(p.n, p.size)
		if err != nil {
			return nil, err
		}
		return p.measure(len(state), func() error {
			file, err := p.write(state)
			if err != nil {
				return err
			}
			return file.Close()
		})
	}
}

func plainReadProgram(f *flag.FlagSet) func() (figures, error) {
	p := &plain{}
	p.flags(f)
	return func() (_ figures, err error) {
		state, err := encodedState(p.n, p.size)
		if err != nil {
			return nil, err
		}
		file, err := p.write(state)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		block := make([]byte, plainBlock)
		return p.measure(len(state), func() error {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			for {
				if _, err := file.Read(block); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
	}
}

func (p *plain) measure(bytes int, once func() error) (figures, error) {
	for range p.warm {
		if err := once(); err != nil {
			return nil, err
		}
	}
	m := newMeter()
	for range p.repeats {
		if err := once(); err != nil {
			return nil, err
		}
	}
	return perPayload(m, p.n, p.size, p.repeats, bytes), nil
}

// write makes a file of the state, and makes it durable once. The file has no name, so it goes with its handle, however the process ends.
func (p *plain) write(state []byte) (*os.File, error) {
	file, err := os.CreateTemp(p.dir, "spillway-benchmarks-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(file.Name())
	for at := 0; at < len(state) && err == nil; at += plainBlock {
		_, err = file.Write(state[at:min(at+plainBlock, len(state))])
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
