package fair

// Grab decides which deposit a processor gets next.
//
//  1. A processor that requires users gets the head of the first of them in the ring, from
//     its start, who may be served; if there is none, it gets nothing.
//  2. Else the head of the first user that it prefers, from the cursor on.
//  3. Else the head of the next user whose turn it is, by round robin from the cursor on.
//
// Only round robin moves the cursor and counts against allocations. Inside a user no
// deposit overtakes another: a head that is too large keeps the rest waiting.
func (r *Ring) Grab(c Config, p Processor) Decision {
	switch {
	case c.Suspended || len(r.members) == 0:
		return Decision{}
	case p.requires():
		return r.lap(0, RuleRequired, func(m *member) Obstacle { return m.required(c, p) })
	}
	start, _ := r.find(r.position.Cursor)
	if len(p.Preferred) > 0 {
		if d := r.lap(start, RulePreferred, func(m *member) Obstacle { return m.preferred(c, p) }); d.Rule != RuleNone {
			return d
		}
	}
	return r.roundRobin(start%len(r.members), c, p)
}

// lap decides for the first user, in one lap, for whom there is no obstacle.
func (r *Ring) lap(start int, rule Rule, why func(*member) Obstacle) Decision {
	for i := range r.members {
		m := r.members[(start+i)%len(r.members)]
		switch why(m) {
		case ObstacleNone:
			return r.removal(m, m.waiting.first(), rule, r.position)
		case ObstacleUnread:
			return Decision{Rule: RuleRead, User: m.user, Slot: m.slot}
		}
	}
	return Decision{}
}

// roundRobin goes on with the visit at the cursor, and then at most one lap.
func (r *Ring) roundRobin(start int, c Config, p Processor) Decision {
	at := r.position
	for i := range len(r.members) + 1 {
		m := r.members[(start+i)%len(r.members)]
		if at.Cursor = m.slot; i > 0 {
			at.Used = 0 // a step
		}
		allocation := c.Allocation.For(m.user)
		if at.Used >= allocation {
			continue
		}
		switch m.inTurn(c, p) {
		case ObstacleNone:
			if at.Used++; at.Used == allocation {
				at.Cursor, at.Used = r.members[(start+i+1)%len(r.members)].slot, 0
			}
			return r.removal(m, m.waiting.first(), RuleRoundRobin, at)
		case ObstacleUnread:
			return Decision{Rule: RuleRead, User: m.user, Slot: m.slot}
		}
	}
	return Decision{}
}
