package repocheck

import (
	"fmt"
	"path"
	"regexp"
)

// Reply says, of crash points, whose answer to what comes right behind them may be
// lost, or why there is none.
type Reply struct {
	Points string // pattern; the first row that matches counts
	From   string // ZooKeeper, NATS, PostgreSQL or Receiver; "" = no answer
	Why    string // the reason then
}

// Those who answer.
const (
	ZooKeeper  = "ZooKeeper"
	NATS       = "NATS"
	PostgreSQL = "PostgreSQL"
	Receiver   = "the callback's receiver"
)

const (
	answered  = "the answer is there already"
	onDisk    = "a disk: no message, no answer"
	ofMinter  = "that of a service that registers identifiers; TestMintersKilledAtEachStep loses it"
	ofService = "that of a service outside; TestRecordedOnce loses it"
)

// Replies is the whole table, in the form of crash.Around. A point that no row matches
// is an error.
var Replies = []Reply{
	{"*/*/*/after", "", answered},
	{"store/*/*/*", "", onDisk},
	{"drop/*/*/*", "", onDisk},
	{"replica/*/*/*", "", onDisk},
	{"withdrawal/content/*/*", "", onDisk},
	{"withdrawal/history/write/before", NATS, ""},
	{"notify/callback/send/before", Receiver, ""},
	{"notify/*/*/*", "", onDisk},
	{"mint/service/ask/before", "", ofMinter},
	{"daemon/processing/register/before", "", ofMinter},
	{"stepservice/step/ask/before", "", ofService},
	{"wire/*/*/*", "", onDisk},
	{"daemon/*/keep-*/before", "", onDisk},
	{"daemon/*/send*/before", "", onDisk},
	{"daemon/processing/store/before", "", onDisk},
	{"daemon/downloading/win/before", "", onDisk},
	{"daemon/downloading/discard/before", "", onDisk},
	{"daemon/janitor/remove-directory/before", "", onDisk},
	{"zklive/*/*/before", ZooKeeper, ""},
	{"eventstore/deletion/remove-work/before", "", onDisk},
	{"app/ending/file/before", NATS, ""},
	{"app/release/one/before", ZooKeeper, ""},
	{"app/park/one/before", ZooKeeper, ""},
	{"app/bulk/one/before", ZooKeeper, ""},
	{"eventstore/deletion/*/before", ZooKeeper, ""},
	{"daemon/turn/move/before", ZooKeeper, ""},
	{"daemon/batch-pending/*/before", ZooKeeper, ""},
	{"daemon/processing/identify/before", ZooKeeper, ""},
	{"jslog/*/*/before", NATS, ""},
	{"jslog/append/half", NATS, ""},
	{"relay/events/append/before", NATS, ""},
	{"relay/mark/move/before", ZooKeeper, ""},
	{"daemon/estimating/discover/before", NATS, ""},
	{"daemon/downloading/*/before", NATS, ""},
	{"daemon/files/give-back/before", NATS, ""},
	{"download/attempt/*/before", NATS, ""},
	{"poll/slots/make/before", NATS, ""},
	{"groups/files/process/before", NATS, ""},
	{"groups/manifest/*/*", "", onDisk},
	{"ready/slot/make/before", NATS, ""},
	{"attempt/file/*/before", NATS, ""},
	{"compute/file/request/before", ZooKeeper, ""},
	{"compute/entry/strand/before", ZooKeeper, ""},
	{"ownstep/entry/*/before", ZooKeeper, ""},
	{"ownstep/result/read/before", PostgreSQL, ""},
	{"daemon/processing/start/before", NATS, ""},
	{"daemon/processing/end/before", NATS, ""},
	{"projections/*/*/before", PostgreSQL, ""},
	{"migrations/*/*/before", PostgreSQL, ""},
	{"record/*/*/before", PostgreSQL, ""},
	{"daemon/processing/*/before", PostgreSQL, ""},
	{"daemon/recording/record/before", PostgreSQL, ""},
	{"daemon/notify/callback/before", Receiver, ""},
}

// pairs matches the points of crash.Point pairs, .../before-noun instead of
// .../noun/before.
var pairs = regexp.MustCompile(`/(before|after)-([^/]*)$`)

// ReplyAt returns the row of a point.
func ReplyAt(point string) (Reply, error) {
	name := pairs.ReplaceAllString(point, "/$2/$1")
	for _, r := range Replies {
		if ok, err := path.Match(r.Points, name); ok || err != nil {
			return r, err
		}
	}
	return Reply{}, fmt.Errorf("repocheck/replies.go has no row for the crash point %s: say whose answer may be lost right behind it, or why there is no answer", point)
}

// cell is what the page says.
func (r Reply) cell() string {
	if r.From == "" {
		return "– (" + r.Why + ")"
	}
	return r.From
}
