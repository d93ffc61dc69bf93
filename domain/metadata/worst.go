package metadata

// Worst keeps some records of a list: those with a failure before those with a warning,
// and each of these in their order.
type Worst struct {
	Max int // how many are kept

	kept map[Outcome][]Record
}

// Add looks at the next record.
func (w *Worst) Add(r Record) {
	if w.kept == nil {
		w.kept = make(map[Outcome][]Record)
	}
	if len(w.kept[r.Outcome]) < w.Max {
		w.kept[r.Outcome] = append(w.kept[r.Outcome], r)
	}
}

// List returns the records that are kept.
func (w *Worst) List() []Record {
	list := []Record{}
	for _, o := range Outcomes {
		list = append(list, w.kept[o]...)
	}
	return list[:min(len(list), w.Max)]
}
