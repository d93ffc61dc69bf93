package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Value is what a register holds: the number of its last change, and the command that
// made it. The zero Value: nothing is there.
type Value struct {
	Version int64
	Command string
}

// Access is one use of a register that was begun and ended at these times; it took
// effect at some moment between them.
type Access struct {
	Of          string // which register
	Value       Value  // that was written or seen
	Write, Last bool   // Last: with this write the register is gone
	Begun       time.Time
	Ended       time.Time
}

func (a Access) String() string {
	what := "saw"
	if a.Write {
		what = "wrote"
	}
	return fmt.Sprintf("%s number %d of %s between %s and %s", what, a.Value.Version, a.Value.Command,
		a.Begun.Format("15:04:05.000000"), a.Ended.Format("15:04:05.000000"))
}

// state is that of a register in the model.
type state struct {
	Value
	gone bool
}

// registers are compare-and-set registers: each write follows the one before it, each
// read returns the last write.
var registers = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, in, _ any) (bool, any) {
		had, a := s.(state), in.(Access)
		if a.Write {
			return !had.gone && a.Value.Version == had.Version+1, state{a.Value, a.Last}
		}
		if a.Value == (Value{}) {
			return had.gone || had.Value == (Value{}), s
		}
		return a.Value == had.Value, s
	},
}

// checkTime bounds the check of one register.
const checkTime = 30 * time.Second

// Linearizable searches an order of all accesses to each register in which every one
// is legal, and which agrees with their times. It returns the registers for which there
// is none, each with its accesses.
func Linearizable(all []Access) (faults []string) {
	parts := map[string][]porcupine.Operation{}
	for i, a := range decisive(all) {
		parts[a.Of] = append(parts[a.Of], porcupine.Operation{ClientId: i, Input: a, Call: a.Begun.UnixNano(), Return: a.Ended.UnixNano()})
	}
	for _, of := range slices.Sorted(maps.Keys(parts)) {
		part := parts[of]
		result := porcupine.CheckOperationsTimeout(registers, part, checkTime)
		if result == porcupine.Ok {
			continue
		}
		slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		lines := []string{fmt.Sprintf("%s is no compare-and-set register (%s):", of, result)}
		for _, o := range part {
			lines = append(lines, "  "+o.Input.(Access).String())
		}
		faults = append(faults, strings.Join(lines, "\n"))
	}
	return faults
}

// decisive leaves out reads that add nothing. Of all reads of one value the one that
// ended first says how early it was there, the one that began last how late; it was there
// in between. An absent value may be absent before and after: such reads are all kept.
func decisive(all []Access) []Access {
	type value struct {
		of string
		Value
	}
	first, last := map[value]int{}, map[value]int{}
	for i, a := range all {
		v := value{a.Of, a.Value}
		if f, had := first[v]; !a.Write && (!had || a.Ended.Before(all[f].Ended)) {
			first[v] = i
		}
		if l, had := last[v]; !a.Write && (!had || a.Begun.After(all[l].Begun)) {
			last[v] = i
		}
	}
	var kept []Access
	for i, a := range all {
		v := value{a.Of, a.Value}
		if a.Write || a.Value == (Value{}) || first[v] == i || last[v] == i {
			kept = append(kept, a)
		}
	}
	return kept
}
