package question

import (
	"cmp"
	"strings"
)

// called are the words before the name of a thing, by the pages of its kind: users have names that are
// read without one.
var called = map[string]string{"batches": "batch ", "jobs": "job ", "files": "file ", "queues": "the queue ", "collections": "the collection ", "compute": "entry ", "deposits": "deposit ", "slots": "slot ",
	"directories": "directory ", "datasets": "dataset ", "profiles": "profile ", "processors": "processor ", "bulk": "bulk action ", "deposit-queues": "the deposit queue ", "queries": "query ", "objects": "object ", "keys": "API key "}

// titled are the titles of pages of actions that are not what the action is called and then the thing,
// with % for that, by the pages of its kind and the verb.
var titled = map[string]string{
	"batches/update-report":       "Update the report of %",
	"batches/send-report":         "Send the report of %",
	"batches/free":                "Free the turn of %",
	"jobs/priority":               "Change the priority of %",
	"directories/run":             "Poll % now",
	"directories/rm":              "Poll % no more",
	"profiles/rm":                 "Remove what was set for %",
	"bulk/cancel":                 "End % now",
	"queries/send-report":         "Send the report of %",
	"objects/approve":             "Approve the withdrawal of %",
	"objects/reject":              "Reject the withdrawal of %",
	"people/set":                  "Change the name or mail of %",
	"people/grant":                "Grant a right to %",
	"people/withdraw":             "Withdraw a right from %",
	"people/password":             "Set the password of %",
	"people/key":                  "Make an API key for %",
	"people/identity":             "Change the sign-in of % by OpenID Connect",
	"people/disable":              "Disable the user %",
	"people/enable":               "Enable the user %",
	"keys/revoke":                 "Revoke %",
	"deposit-queues/prohibit":     "Let only processors that require them serve users of %",
	"deposit-queues/allow":        "Let every processor of % serve users again",
	"deposit-queues/defaults":     "Set the limits of every user in %",
	"deposit-queues/limit":        "Set the limits of a user in %",
	"deposit-queues/unlimit":      "Remove the limits of a user in %",
	"deposit-queues/park":         "Park deposits in %",
	"deposit-queues/unpark":       "Let parked deposits in % wait again",
	"deposit-queues/close-intake": "Accept no deposits in %",
	"deposit-queues/open-intake":  "Accept deposits in % again",
}

// titledOfMany are those where there are many things that differ by more.
var titledOfMany = map[string]string{"batches/update-report": "Update the reports of %", "batches/send-report": "Send the reports of %", "queries/send-report": "Send the reports of %"}

// Label returns what an action is called beside its thing: "Requeue".
func Label(kind, verb string) string {
	return cmp.Or(Of(kind, verb).Label, words(verb))
}

// LabelOfMany returns what it is called beside many: "Poll them now".
func LabelOfMany(kind, verb string) string {
	return strings.Replace(Label(kind, verb), " it ", " them ", 1)
}

// words returns a verb as people read it: "Close intake".
func words(verb string) string {
	all := strings.ReplaceAll(verb, "-", " ")
	return strings.ToUpper(all[:1]) + all[1:]
}

// Title returns that of the page of an action on a thing, "" = on none: "Make an API key for ana".
func Title(kind, verb, name string) string {
	if name == "" {
		return Label(kind, verb)
	}
	return with(cmp.Or(titled[kind+"/"+verb], Label(kind, verb)+" %"), called[kind]+name)
}

// TitleOfMany returns that of the page of an action on many: "Requeue all chosen jobs".
func TitleOfMany(kind, verb, things string) string {
	of := kind + "/" + verb
	return with(cmp.Or(titledOfMany[of], titled[of], Label(kind, verb)+" %"), things)
}

func with(title, thing string) string { return strings.Replace(title, "%", thing, 1) }
