// Package question has what actions of the console ask for besides a reason: the fields of their
// forms, and the body of the request that these make.
package question

import (
	"cmp"
	"errors"
	"net/url"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
)

// Question is what an action needs besides a reason. What it asks for is sent in the body of
// requests, and is in no address.
type Question struct {
	Label     string // "" = the verb
	Operation string
	Fields    []form.Field
	// Names are the fields that the path of the operation names, none = it names the thing.
	Names []string
	// Secrets are asked for with the reason, after the preview: a page never has one.
	Secrets []form.Field
	// Known returns what is so now, nil = nothing is known: the address may say what is meant.
	Known func(v *ask.Visit, id string) (url.Values, error)
	// Body returns the body of the request, nil = the reason. An error that is a problem is about
	// what was written.
	Body func(id string, given url.Values, why string) (any, error)
	// Unreasoned says that the operation takes no reason.
	Unreasoned bool
}

// asked are the actions that ask for what the input of their operation has, by the pages of their
// kind and their verb; of those whose kind is [New] the fields name the thing.
var asked = map[string]Question{
	"profiles/set":          {Label: "Change", Operation: "profile.set"},
	"datasets/set":          {Label: "Change", Operation: "dataset.set"},
	"processors/set":        {Label: "Change", Operation: "processor.set"},
	"deposit-queues/allow":  {Label: "Let every processor serve users again"},
	New + "/profile":        {Label: "New profile", Operation: "profile.set"},
	New + "/dataset":        {Label: "New dataset", Operation: "dataset.add"},
	New + "/directory":      {Label: "Poll a directory", Operation: "discover.add"},
	New + "/slot":           {Label: "New slot", Operation: "slot.add"},
	New + "/work":           {Label: "Request work", Operation: "compute.submit"},
	New + "/processor":      {Label: "New processor", Operation: "processor.add"},
	New + "/timeouts":       {Label: "Set how long attempts at files may take", Operation: "timeouts.set"},
	New + "/poison-retry":   {Label: "Apply held events", Operation: "poison.retry"},
	New + "/transfer-stop":  {Label: "Keep deposits in the drop folder", Operation: "drop.stop"},
	New + "/transfer-start": {Label: "Let deposits become batches", Operation: "drop.start"},

	"deposit-queues/prohibit":     {Label: "Let only processors that require them serve users"},
	"deposit-queues/defaults":     {Label: "Set the limits of every user"},
	"deposit-queues/limit":        {Label: "Set the limits of a user"},
	"deposit-queues/unlimit":      {Label: "Remove the limits of a user"},
	"deposit-queues/park":         {Label: "Park deposits"},
	"deposit-queues/unpark":       {Label: "Let parked deposits wait again"},
	"deposit-queues/close-intake": {Label: "Accept no deposits", Operation: "intake.close"},
	"deposit-queues/open-intake":  {Label: "Accept deposits again", Operation: "intake.open"},
}

// New is the kind of the actions that are about no thing that there is.
const New = "new"

// only are the actions that ask for the reason alone, and are not called as their operation is.
var only = map[string]Question{
	"batches/free":    {Label: "Free its turn", Operation: "queue.free"},
	"batches/cleanup": {Label: "Clean up"},
	"jobs/priority":   {Label: "Change the priority"},
	"deposits/rm":     {Label: "Remove"},
	"directories/run": {Label: "Poll it now"},
	"directories/rm":  {Label: "Poll it no more"},
	"profiles/rm":     {Label: "Remove what was set"},
	"processors/rm":   {Label: "Remove"},
	"bulk/cancel":     {Label: "End it now"},
}

// shows are the operations that show what is so before it is changed.
var shows = map[string]string{"datasets/set": "dataset.show", "processors/set": "processor.show"}

// Of returns what an action asks for, by the pages of its kind and its verb.
func Of(kind, verb string) Question {
	of, noun := kind+"/"+verb, Actions[kind].Noun
	if q, is := ofPeople[of]; is {
		q.Operation = cmp.Or(q.Operation, noun+"."+verb)
		return q
	}
	q, is := asked[of]
	if !is {
		q = only[of]
		q.Operation = cmp.Or(q.Operation, noun+"."+verb)
		return q
	}
	q.Operation = cmp.Or(q.Operation, noun+"."+verb)
	q = q.asking(kind != New)
	if name := shows[of]; name != "" {
		q.Known = shownBy(name, q.Fields)
	}
	if q.Operation == "profile.set" {
		q = q.ofProfile()
	}
	return q
}

// ofProfile returns the question about a profile: what it says now is there to be changed, and it is
// changed only if it still says that.
func (q Question) ofProfile() Question {
	for i := range q.Fields {
		if f := &q.Fields[i]; f.Name == "from" {
			f.Kind = "hidden"
			f.Values = []string{profiles.None}
		}
	}
	if len(q.Names) > 0 { // it is a new one
		return q
	}
	q.Known = func(v *ask.Visit, id string) (url.Values, error) {
		p, err := ask.Get[profiles.Shown](v, "profile.show", nil, id)
		if err != nil {
			return nil, err
		}
		content, err := p.YAML()
		if text.Lines(string(content)) != string(content) {
			return nil, problem.Of(app.Refused, "the profile has characters that no form shows", "`accession profile show` writes it to a file, and `accession profile set` reads one")
		}
		return url.Values{"content": {string(content)}, "from": {p.Version}}, err
	}
	return q
}

// Names returns what the path of an operation names of a thing, such as queue and name of a
// processor, whose id has both.
func Names(name, id string) []string {
	switch len(namesIn(operation.Named(name).Path)) {
	case 0:
		return nil
	case 1:
		return []string{id}
	}
	queue, of, _ := domain.SplitQueueName(domain.SettingProcessor, id) // of what is none the API says so
	return []string{queue, of}
}

// Written returns the body of the request of a form, or what is wrong with what was written.
func (q Question) Written(id string, given url.Values, why string) (body any, refused *problem.Problem, err error) {
	for i, name := range q.Named(id, given) {
		if name == "" {
			return nil, problem.Of(app.Invalid, q.Names[i]+" is empty", "name what is to be made"), nil
		}
	}
	if q.Body == nil {
		return operation.Reason{Reason: why}, nil, nil
	}
	if body, err = q.Body(id, given, why); errors.As(err, &refused) {
		err = nil
	}
	return body, refused, err
}

// Named returns what the path of the operation names.
func (q Question) Named(id string, given url.Values) (all []string) {
	if len(q.Names) == 0 {
		return Names(q.Operation, id)
	}
	for _, name := range q.Names {
		all = append(all, form.Text(given, name))
	}
	return all
}
