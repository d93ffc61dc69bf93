package e2e

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

// TestDepositQueueSettings: what operators set wins over the configuration of a process,
// says who set it and why, is in the tables, and is written again from the log when it is
// damaged; until then its queue counts as suspended.
func TestDepositQueueSettings(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "queue_allocation=metadata=2,metadata-ana=4", "prohibited_users=eve", "processors=metadata-films?users=ana&max_size=9")
	in.serveInProcess(run.RoleRelay, run.RoleProjector)
	in.says(0, words("queue show metadata"), "allocation", "configuration", "built in", "eve", "allocation of ana", "processor films", "requires=ana max_size=9")
	in.says(0, words("queue show query"), "processor default", "built in")
	in.says(0, words("processor ls"), "films", "requires=ana max_size=9", "default", "built in")

	in.says(2, words("queue suspend pending --reason x"), "metadata, query or all")
	in.says(2, words("queue suspend metadata"), "--reason")
	in.says(2, words("queue limit metadata ana --allocation -1 --reason x"), "0 or more")
	in.says(0, words("queue suspend all --reason upgrade --dry-run"), "metadata would go from unset to suspended")
	in.says(0, words("queue suspend metadata --reason upgrade"), "metadata is suspended now, was unset")
	in.says(3, words("queue suspend metadata --reason upgrade"), "accession queue show")
	in.says(0, words("queue defaults metadata --concurrency 7 --allocation unset --reason more"), "suspended concurrency=7 now, was suspended")
	in.says(0, words("queue prohibit all ben,carl --reason tests"), "prohibited=ben,carl,eve")
	in.says(0, words("queue allow query ben --reason tests"), "prohibited=carl,eve")
	in.says(0, words("queue limit metadata ana,a.b --concurrency 0 --reason broken"), "metadata-ana is concurrency=0 now, was unset", "metadata-a%2Eb is concurrency=0 now")
	in.with("postgres=postgres://none@127.0.0.1:1/none").says(0, words("queue unlimit metadata a.b --reason mended"),
		"metadata-a%2Eb is unset now, was concurrency=0", "the audit has no entry of this: ")
	if n := in.count(`select count(*) from record.audit_entry where via = 'machine' and action like 'queue.%limit' and subject in ('queue/metadata/ana', 'queue/metadata/a.b') and outcome = 'done' and reason in ('broken', 'mended')`); n != 2 {
		t.Errorf("%d entries of the audit of the limits, want one for each of two users", n)
	}
	in.says(0, words("processor add query small --max-size 5 --preferred ben --reason quick"), "started prefers=ben max_size=5")
	in.says(3, words("processor add query small --reason quick"), "accession processor set")
	in.says(0, words("processor stop metadata films --reason disk"), "stopped requires=ana max_size=9 now, was unset")
	in.says(0, words("processor set query small --users ana --exclude-users --reason quick"), "excludes=ana prefers=ben max_size=5")
	in.says(4, words("processor stop query films --reason disk"), "accession processor ls")
	in.says(3, words("processor rm query default --reason disk"), "accession processor stop")
	in.shown()
	in.says(0, words("queue show metadata"), "run time", "upgrade", "broken", "7", "ben,carl,eve", "stopped requires=ana max_size=9", "disk")
	in.says(0, words("queue show all -o json"), `"source": "run time"`, `"why": "upgrade"`, `"name": "allocation of ana"`)

	// One that is damaged suspends its queue.
	node := in.cfg.ZooKeeperRoot + "/queues/query/config/processors/small"
	_, err := in.zookeeper().Set(node, []byte("{garbage"), -1)
	in.must(err)
	in.says(0, words("queue show query"), "true", "processor:query-small cannot be read")
	in.mends("a processor that cannot be read", consistency.SettingWrong)
	in.says(0, words("queue show query"), "false")
	_, err = in.zookeeper().Create(in.cfg.ZooKeeperRoot+"/queues/query/config/users/eve", []byte(`{"user":"eve","allocation":1}`), 0, zk.WorldACL(zk.PermAll))
	in.must(err)
	in.mends("limits of no history", consistency.SettingWrong)

	in.says(0, words("queue resume metadata --reason ready"), "metadata is prohibited=ben,carl,eve concurrency=7 now")
	in.says(0, words("processor rm metadata films --reason done"), "the configuration counts again: started requires=ana max_size=9")
	in.shown()
	for query, want := range map[string]int{
		"select count(*) from report.queue_history where changed_by like 'user/%' and why <> ''":                                                13,
		"select count(*) from report.queue_history where user_name = 'a.b'":                                                                     2,
		"select count(*) from report.queue_history where processor = 'small' and queue = 'query'":                                               2,
		"select count(*) from report.queue_history where kind = 'deposit_queue' and value ->> 'suspended' = 'true' and previous is null":        1,
		"select (value -> 'deposit_queue' ->> 'concurrency')::bigint from accession.setting where kind = 'deposit_queue' and name = 'metadata'": 7,
		"select count(*) from accession.setting where kind = 'processor' and status = 'set' and value is not null":                              1,
	} {
		if got := in.count(query); got != want {
			t.Errorf("%s gives %d, want %d", query, got, want)
		}
	}
	live, err := in.wired.LiveState(in.ctx())
	in.must(err)
	now, err := live.QueueSettings(in.ctx(), "metadata")
	in.must(err)
	if c := now.Config; c.Suspended || c.Concurrency.Default != 7 || c.Allocation.Default != 2 || c.Allocation.For("ana") != 4 || c.Concurrency.For("ana") != 0 || !c.Prohibited["carl"] {
		t.Errorf("%+v", c)
	}
	if p := now.Processors["films"]; p.Stopped || p.MaxSize != 9 {
		t.Errorf("%+v", now.Processors)
	}
	in.agree()
}
