package console

import (
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
)

// field is a field of a filter.
type field struct {
	Name, Label, Value string
	Kind               string   // of the input; "" = text
	Choices            []string // it is a choice of these
}

// filter returns the fields of a form with what an address chooses.
func filter(v *visit, list ...field) []field {
	for i := range list {
		list[i].Value = v.URL.Query().Get(list[i].Name)
		if list[i].Kind == "date" && len(list[i].Value) > len("2006-01-02") {
			list[i].Kind = "" // a moment within a day
		}
	}
	return list
}

// list is the page of a list.
type list struct {
	Fields []field
	Table  table.Table
	Path   string
	Chosen bool // the list is limited to something
	Sort   string
	// Verbs are the commands to all that are chosen, To where they are previewed.
	Verbs []doable
	To    string
	// Actions are commands that are about none of them.
	Actions []doable
	// Of leads to the thing that has what is listed, nil = none.
	Of    *doable
	Given []field // the filter as it is sent on
}

// changes are the kinds of events that change a list, by its operation, where they are not those of
// batches, jobs and files; "" = none does.
var changes = map[string]string{"query.ls": "query", "slot.ls": "slot,file", "dataset.ls": "slot,file,setting", "compute.ls": "entry", "drop.ls": "batch,setting",
	"compute.workers": "entry", "discover.ls": "setting,file", "profile.ls": "setting", "processor.ls": "setting", "object.ls": "job",
	"user.ls": "", "key.ls": "", "audit.ls": "", "object.withdrawals": ""}

// unsaid are the lists that change without an event too, by their operation.
var unsaid = map[string]bool{"user.ls": true, "key.ls": true, "audit.ls": true, "object.ls": true, "object.withdrawals": true, "drop.ls": true, "poison.ls": true, "bulk.ls": true, "discover.ls": true, "compute.workers": true}

// rightOn is where a user acts who gives commands to all on a list, "" = in some collection.
var rightOn = map[string]string{"compute": everything, "queries": everything, "deposits": everything}

// listPage returns the page of a list that the address chooses.
func listPage[T any](v *visit, c table.Columns[T], title, where string, fields ...field) (page, error) {
	t, err := c.Listed(v)
	if err != nil {
		return page{}, err
	}
	l := list{Fields: filter(v, fields...), Table: t, Path: v.URL.Path, Sort: v.URL.Query().Get("sort")}
	l.Chosen = slices.ContainsFunc(l.Fields, func(f field) bool { return f.Value != "" })
	name := strings.TrimPrefix(v.URL.Path, Path)
	if a := question.Actions[name]; len(a.All) > 0 && l.Chosen && mayAct(v, rightOn[name]) {
		l.To = v.URL.Path + "/all"
		for _, verb := range a.All {
			l.Verbs = append(l.Verbs, doable{question.LabelOfMany(name, verb), verb})
		}
		l.Given = slices.DeleteFunc(slices.Clone(l.Fields), func(f field) bool { return f.Value == "" })
	}
	p := page{Name: "list", Title: title, Where: where, Again: unsaid[c.Operation], Data: l}
	if kinds, has := changes[c.Operation]; !has {
		p.Follow = "kind=batch,job,file"
	} else if kinds != "" {
		p.Follow = "kind=" + kinds
	}
	return p, nil
}

// texts returns states as they are chosen by.
func texts[S ~string](states []S) []string {
	all := make([]string, len(states))
	for i, s := range states {
		all[i] = string(s)
	}
	return all
}
