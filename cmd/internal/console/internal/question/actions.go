package question

// Actions are what operators do about one thing, by the pages of its kind: verbs of operations that
// take a reason.
var Actions = map[string]struct {
	Noun  string // of the operations
	Shows string // the operation that has its version, "" = it has none
	Verbs []string
	All   []string // those that are also given to all that a filter chooses
}{
	"batches":        {"batch", "batch.show", []string{"release", "update-report", "send-report", "free", "delete", "cleanup"}, []string{"release", "update-report", "send-report", "delete", "cleanup"}},
	"jobs":           {"job", "job.show", []string{"hold", "release", "requeue", "priority", "fail", "delete"}, []string{"hold", "release", "requeue", "priority", "fail", "delete"}},
	"files":          {"file", "file.show", []string{"requeue", "skip", "redownload", "reprocess", "abandon"}, []string{"requeue", "skip", "redownload", "reprocess", "abandon"}},
	"queues":         {"queue", "", []string{"pause", "resume"}, nil},
	"collections":    {"collection", "", []string{"hold", "release"}, nil},
	"compute":        {"compute", "compute.show", []string{"retry"}, []string{"retry"}},
	"deposits":       {"drop", "upload.show", []string{"retry", "rm"}, []string{"retry", "rm"}},
	"slots":          {"slot", "slot.show", []string{"open", "close"}, []string{"open", "close"}},
	"directories":    {"discover", "discover.show", []string{"run", "pause", "resume", "rm"}, []string{"run", "pause", "resume", "rm"}},
	"datasets":       {"dataset", "dataset.show", []string{"set"}, nil},
	"profiles":       {"profile", "profile.show", []string{"set", "rm"}, nil},
	"processors":     {"processor", "processor.show", []string{"set", "start", "stop", "rm"}, nil},
	"bulk":           {"bulk", "", []string{"cancel"}, nil},
	New:              {"", "", []string{"profile", "dataset", "directory", "slot", "work", "processor", "timeouts", "poison-retry", "transfer-stop", "transfer-start"}, nil},
	"deposit-queues": {"queue", "", append([]string{"suspend", "resume", "prohibit", "allow", "defaults", "limit", "unlimit", "park", "unpark"}, OfIntake...), nil},
	"queries":        {"query", "query.show", []string{"fail", "send-report"}, []string{"fail", "send-report"}},
	"objects":        {"object", "", []string{"withdraw", "approve", "reject"}, nil},
	"people":         {"user", "user.show", []string{"set", "grant", "withdraw", "password", "key", "identity", "disable", "enable"}, nil},
	"keys":           {"key", "", []string{"revoke"}, nil},
}

// OfIntake are the actions on deposit queues that administrators take.
var OfIntake = []string{"close-intake", "open-intake"}

// BegunOn are the pages on which actions that are about no thing are begun.
var BegunOn = map[string]string{"profile": "profiles", "dataset": "datasets", "directory": "directories", "slot": "slots", "work": "compute", "processor": "processors", "poison-retry": "poison", "timeouts": "queues", "transfer-stop": "queues", "transfer-start": "queues"}
