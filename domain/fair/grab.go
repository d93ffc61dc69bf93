package fair

// Grab decides which deposit a processor gets next.
//
//  1. A processor that requires users gets the head of the first of them in the ring, from
//     its start, who may be served; if there is none, it gets nothing.
//  2. Else the head of the first user that it prefers, in the order of the ring from the
//     cursor on, whatever the lap.
//  3. Else the head of the next user whose turn it is, by round robin from the cursor on:
//     in this lap, and then in the next. Who joins during a lap waits for the next, so
//     that a lap ends whatever arrives.
//
// Only round robin moves the cursor and counts against allocations. Inside a user no
// deposit overtakes another: a head that is too large keeps the rest waiting.
func (r *Ring) Grab(c Config, p Processor) Decision {
	switch {
	case c.Suspended || len(r.members) == 0:
		return Decision{}
	case p.requires():
		return r.first(0, RuleRequired, func(m *member) Obstacle { return m.required(c, p) })
	}
	if len(p.Preferred) > 0 {
		start, _ := r.visit(r.position)
		if d := r.first(start, RulePreferred, func(m *member) Obstacle { return m.preferred(c, p) }); d.Rule != RuleNone {
			return d
		}
	}
	return r.roundRobin(c, p)
}

// first decides for the first user, once around the ring, for whom there is no obstacle.
func (r *Ring) first(start int, rule Rule, why func(*member) Obstacle) Decision {
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

// roundRobin goes on with the visit at the cursor, then with the others of this lap, and
// then with the next, which has all users; those whom this lap passed over it leaves out.
func (r *Ring) roundRobin(c Config, p Processor) Decision {
	start, at := r.visit(r.position)
	end, _ := r.find(at.Lap + 1)
	for _, part := range [][]*member{r.members[start:end], r.members[:start+1], r.members[end:]} {
		for _, m := range part {
			at.Cursor = m.slot
			if d := r.inTurn(m, at, c, p); d.Rule != RuleNone {
				return d
			}
			at.Used = 0 // a step
		}
		at.Lap = r.last // behind the first part
	}
	return Decision{}
}

// inTurn decides for the user on whom the cursor stands at this position.
func (r *Ring) inTurn(m *member, at Position, c Config, p Processor) Decision {
	allocation := c.Allocation.For(m.user)
	if at.Used >= allocation {
		return Decision{}
	}
	switch m.inTurn(c, p) {
	case ObstacleNone:
		if at.Used++; at.Used == allocation {
			at = r.next(m, at, false)
		}
		return r.removal(m, m.waiting.first(), RuleRoundRobin, at)
	case ObstacleUnread:
		return Decision{Rule: RuleRead, User: m.user, Slot: m.slot}
	}
	return Decision{}
}
