package archtest

import (
	"fmt"
	"path"
)

// Reply says, of crash points, whose answer to what comes right behind them may be
// lost, or why there is none.
type Reply struct {
	Points string // pattern; the first row that matches counts
	From   string // ZooKeeper, NATS, PostgreSQL or Receiver; "" = nobody answers
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
	answered = "the answer is there already"
	onDisk   = "a disk: no message, no answer"
)

// Replies is the whole table. A point that no row matches is an error.
var Replies = []Reply{
	{"*/*/after-*", "", answered},
	{"eventstore/deletion/begun", "", answered},
	{"relay.published", "", answered},
	{"notify.callback_sent", "", answered},
	{"store/*/*", "", onDisk},
	{"notify/*/*", "", onDisk},
	{"notify.mail_*", "", onDisk},
	{"fetch.*", "", onDisk},
	{"wire/*/*", "", onDisk},
	{"daemon/*/before-keep-*", "", onDisk},
	{"daemon/*/before-send", "", onDisk},
	{"daemon/processing/before-store", "", onDisk},
	{"daemon/downloading/before-win", "", onDisk},
	{"zklive/*/before-*", ZooKeeper, ""},
	{"eventstore/deletion/before-remove", ZooKeeper, ""},
	{"daemon/turn/before-move", ZooKeeper, ""},
	{"daemon/batch-pending/before-create-jobs", ZooKeeper, ""},
	{"jslog/*/before-*", NATS, ""},
	{"jslog.half", NATS, ""},
	{"relay.read", NATS, ""},
	{"daemon/downloading/before-end", NATS, ""},
	{"projections/*/before-*", PostgreSQL, ""},
	{"migrations/*/before-*", PostgreSQL, ""},
	{"record/*/before*", PostgreSQL, ""},
	{"daemon/processing/before-reserve-identifier", PostgreSQL, ""},
	{"daemon/recording/before-record", PostgreSQL, ""},
	{"notify.callback_made", Receiver, ""},
	{"daemon/notify/before-callback", Receiver, ""},
}

// ReplyAt gives the row of a point.
func ReplyAt(point string) (Reply, error) {
	for _, r := range Replies {
		if ok, err := path.Match(r.Points, point); ok || err != nil {
			return r, err
		}
	}
	return Reply{}, fmt.Errorf("archtest/replies.go has no row for the crash point %s: say whose answer may be lost right behind it, or why nobody answers", point)
}

// cell is what the page says.
func (r Reply) cell() string {
	if r.From == "" {
		return "– (" + r.Why + ")"
	}
	return r.From
}
