package text

// stackBlock is how many steps one block of a stack holds.
const stackBlock = 1024

// A stack of steps, in blocks: it grows without copying, and its oldest steps
// can be dropped.
type stack struct {
	blocks []*[stackBlock]step
	// The steps are those from dropped to n, counted from the first block on.
	dropped, n int
}

func (s *stack) len() int { return s.n - s.dropped }

func (s *stack) push(st step) {
	if s.n == len(s.blocks)*stackBlock {
		s.blocks = append(s.blocks, new([stackBlock]step))
	}
	s.blocks[s.n/stackBlock][s.n%stackBlock] = st
	s.n++
}

// pop takes the newest step, which is there.
func (s *stack) pop() step {
	s.n--
	st := s.take(s.n)
	if s.n == s.dropped {
		*s = stack{}
	} else if k := s.n/stackBlock + 1; k < len(s.blocks)-1 {
		// One empty block stays, so that going to and fro allocates nothing.
		s.blocks[k+1] = nil
		s.blocks = s.blocks[:k+1]
	}
	return st
}

// drop takes the oldest step, which is there.
func (s *stack) drop() step {
	st := s.take(s.dropped)
	s.dropped++
	if s.dropped == stackBlock {
		s.blocks = s.blocks[1:]
		s.n, s.dropped = s.n-stackBlock, 0
	}
	return st
}

func (s *stack) take(i int) step {
	at := &s.blocks[i/stackBlock][i%stackBlock]
	st := *at
	*at = step{}
	return st
}
