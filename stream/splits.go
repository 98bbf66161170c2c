package stream

import "strings"

// splits gives each split a small number, so that a record names it in four bytes. A number is used again once its split is
// revoked and the last of its records has settled: splits come and go for as long as a stream lives.
type splits struct {
	all  []split
	free []int32
	byID map[string]int32 // those that are not revoked
	last int32            // that was asked for: mostly it is again
}

type split struct {
	id      string
	mark    []byte
	marked  bool // mark is set
	revoked bool // it has a number while records of it are unsettled
	newest  int32
	live    int // unsettled records
}

func (s *splits) at(i int32) *split { return &s.all[i] }

// intern returns the number of a split.
func (s *splits) intern(id string) int32 {
	if int(s.last) < len(s.all) && s.all[s.last].id == id && !s.all[s.last].revoked {
		return s.last
	}
	i, ok := s.byID[id]
	if !ok {
		i = s.add(strings.Clone(id)) // it may be a part of something long
	}
	s.last = i
	return i
}

func (s *splits) add(id string) int32 {
	if s.byID == nil {
		s.byID = map[string]int32{}
	}
	var i int32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = int32(len(s.all))
		s.all = append(s.all, split{})
	}
	s.all[i] = split{id: id, newest: none}
	s.byID[id] = i
	return i
}

func (s *splits) revoke(id string) {
	i, ok := s.byID[id]
	if !ok {
		return
	}
	delete(s.byID, id)
	s.all[i].revoked = true
	if s.all[i].live == 0 {
		s.release(i)
	}
}

func (s *splits) release(i int32) {
	s.all[i] = split{revoked: true, newest: none}
	s.free = append(s.free, i)
}
