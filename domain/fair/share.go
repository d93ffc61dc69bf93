package fair

// Share bounds what one holder, a submitter or a server, may hold of some workers. Some
// workers are kept for those who hold none: while at most Reserve holders keep
// their workers busy for long, others are still served.
type Share struct{ Workers int }

// kept is how many workers are kept, where that is at most half and at least a quarter of
// them.
const kept = 4

// Reserve returns how many workers are kept for those who hold none.
func (s Share) Reserve() int {
	switch {
	case s.Workers < 2:
		return 0
	case s.Workers < 4:
		return 1
	default:
		return max(min(kept, s.Workers/2), s.Workers/4)
	}
}

// May reports whether a holder of some of the workers may take another, while so many
// are busy.
func (s Share) May(holds, busy int) bool {
	free := s.Workers - busy
	if holds > 0 {
		free -= s.Reserve()
	}
	return free > 0
}
