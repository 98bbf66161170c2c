package kinesistest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseFault reads the text form of a fault; [Fault] has the grammar. The error names the word that it stumbled over.
func ParseFault(text string) (Fault, error) {
	words, err := faultWords(text)
	if err != nil {
		return Fault{}, fmt.Errorf("kinesistest: fault %q: %w", text, err)
	}
	p := faultParser{words: words}
	if err := p.parse(); err != nil {
		return Fault{}, fmt.Errorf("kinesistest: fault %q: %w", text, err)
	}
	if err := p.f.Validate(); err != nil {
		return Fault{}, err
	}
	return p.f, nil
}

// MustParseFault is ParseFault for texts that stand in the source of a test; it panics on an error.
func MustParseFault(text string) Fault {
	f, err := ParseFault(text)
	if err != nil {
		panic(err)
	}
	return f
}

// faultWords splits at blanks, but not within a quoted key.
func faultWords(text string) ([]string, error) {
	var words []string
	for {
		text = strings.TrimLeft(text, " ")
		if text == "" {
			return words, nil
		}
		end := strings.IndexByte(text, ' ')
		if quoted, ok := strings.CutPrefix(text, "key="); ok && strings.HasPrefix(quoted, `"`) {
			q, err := strconv.QuotedPrefix(quoted)
			if err != nil {
				return nil, fmt.Errorf("%s: the string does not end", text)
			}
			end = len("key=") + len(q)
		}
		if end < 0 {
			end = len(text)
		}
		words, text = append(words, text[:end]), text[end:]
	}
}

type faultParser struct {
	words []string
	f     Fault
}

// take removes the next word, "" at the end.
func (p *faultParser) take() string {
	if len(p.words) == 0 {
		return ""
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

func (p *faultParser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *faultParser) parse() error {
	if op := p.take(); op != "*" {
		if op == "" {
			return errors.New("empty: begin with an operation or *")
		}
		p.f.Op = op
	}
	for strings.Contains(p.peek(), "=") {
		if err := p.which(p.take()); err != nil {
			return err
		}
	}
	if err := p.how(p.take()); err != nil {
		return err
	}
	return p.when()
}

func (p *faultParser) which(word string) (err error) {
	f := &p.f
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "stream":
		f.Stream = value
	case "nth":
		f.From, err = positive(value)
		f.To = f.From
	case "from":
		f.From, err = positive(value)
	case "to":
		f.To, err = positive(value)
	case "every":
		f.Every, err = positive(value)
	case "times":
		f.Times, err = positive(value)
	case "share":
		f.Share, err = probability(value)
	case "seed":
		f.Seed, err = strconv.ParseUint(value, 10, 64)
	default:
		return fmt.Errorf("%s: no such condition on requests", word)
	}
	return wrapWord(word, err)
}

func (p *faultParser) how(word string) (err error) {
	f := &p.f
	for action, name := range actionNames {
		if name == word {
			f.Do = action
		}
	}
	arg := ""
	switch f.Do {
	case FailEntries:
		return p.entries()
	case FailRequest:
		f.Code = p.take()
		if value, ok := strings.CutPrefix(p.peek(), "status="); ok {
			p.take()
			f.Status, err = positive(value)
			return wrapWord("status", err)
		}
		return nil
	case DelayReply:
		arg = p.take()
		f.Delay, err = time.ParseDuration(arg)
	case ShortReply:
		arg = p.take()
		f.Missing, err = positive(arg)
	case Cut, Hang, TruncateReply:
	default:
		return fmt.Errorf("%q: want entries, fail, delay, cut, hang, short or truncate", word)
	}
	return wrapWord(word+" "+arg, err)
}

func (p *faultParser) entries() (err error) {
	f := &p.f
	for {
		word := p.take()
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "fail":
			f.Code = p.take()
			return nil
		case "index":
			f.Entries.Index, err = numbers(value)
		case "share":
			f.Entries.Share, err = probability(value)
		case "seed":
			f.Seed, err = strconv.ParseUint(value, 10, 64)
		case "key":
			f.Entries.Key, err = unquoted(value)
		default:
			return fmt.Errorf("%q: want index=, share=, seed=, key= or fail", word)
		}
		if err != nil {
			return wrapWord(word, err)
		}
	}
}

func (p *faultParser) when() error {
	if len(p.words) == 0 {
		return nil
	}
	when, applying := p.take(), p.take()
	if (when != "before" && when != "after") || applying != "applying" || len(p.words) > 0 {
		return fmt.Errorf("%s %s: want nothing more, or before applying, or after applying", when, applying)
	}
	p.f.After = when == "after"
	return nil
}

func wrapWord(word string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	return nil
}

func positive(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && n < 1 {
		err = errors.New("must be at least 1")
	}
	return n, err
}

func probability(s string) (float64, error) {
	p, err := strconv.ParseFloat(s, 64)
	if err == nil && !(p > 0 && p <= 1) {
		err = errors.New("must be above 0 and at most 1")
	}
	return p, err
}

func numbers(s string) (out []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func unquoted(s string) (key string, err error) {
	if key = s; strings.HasPrefix(s, `"`) {
		key, err = strconv.Unquote(s)
	}
	if err == nil && key == "" {
		err = errors.New("must not be empty")
	}
	return key, err
}
