package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dailyMails returns the texts of the daily mails in the drop directory.
func (in *installation) dailyMails() (texts []string) {
	in.t.Helper()
	found, err := filepath.Glob(filepath.Join(in.dir, "mail", "test_2fdaily_2f*.eml"))
	in.must(err)
	for _, name := range found {
		text, err := os.ReadFile(name)
		in.must(err)
		texts = append(texts, string(text))
	}
	return texts
}

// TestDailyMail: the operators are told once a day what needs a person: a queue that is paused
// and jobs that failed.
func TestDailyMail(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "mail_from=accession@example.org", "daily_mail=ops@example.org, night@example.org")
	in.serveInProcess()
	waitFor(t, "the mail about nothing", func() bool { return len(in.dailyMails()) == 1 })
	if text := in.dailyMails()[0]; !strings.Contains(text, "Subject: test: nothing needs a person") || !strings.Contains(text, "night@example.org") {
		t.Errorf("the mail about nothing is\n%s", text)
	}

	other := newInstallation(t, "mail_from=accession@example.org")
	first := other.serveInProcess()
	other.failed(webServer(t, rowsThatFail(3))+"/rows.checkm", 3)
	other.run("queue", "pause", "estimating", "--reason", "a try")
	first.stop()
	other.set("daily_mail=ops@example.org")
	other.serveInProcess()
	waitFor(t, "the mail", func() bool { return len(other.dailyMails()) == 1 })
	for _, want := range []string{"things need a person", "queue estimating is paused", "accession queue resume estimating", "3 =C3=97 job in "} {
		if text := other.dailyMails()[0]; !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

// TestDailyMailOfFaults: what is corrupt, and what is late, is in the daily mail with what to do.
func TestDailyMailOfFaults(t *testing.T) {
	t.Parallel()
	in, _, object := newStored(t)
	var key string
	in.must(in.db.QueryRow(in.ctx(), "select key from record.object_file where primary_identifier = $1 and kind = 'producer' order by name limit 1", object).Scan(&key))
	in.must(os.WriteFile(filepath.Join(in.cfg.Store, filepath.FromSlash(key)), []byte("other bytes"), 0o600))
	a, err := in.wired.Auditor(in.ctx())
	in.must(err)
	a.Interval, a.Rate = time.Millisecond, 0
	waitFor(t, "the auditor to see it", func() bool {
		_, err := a.Once(in.ctx())
		in.must(err)
		return in.count("select count(*) from record.audit where last_at is not null") == 1 && in.count("select count(*) from record.corrupt_file") == 1
	})
	in.exec("update record.audit set last_at = last_at - interval '40 days'")
	in.set("mail_from=accession@example.org", "daily_mail=ops@example.org")
	in.serveInProcess("daemons", "relay", "projector")
	waitFor(t, "the mail", func() bool { return len(in.dailyMails()) == 1 })
	for _, want := range []string{"things need a person", "1 stored files are corrupt", "accession verify --deep", "no pass of the auditor was complete since ", "accession serve --roles auditor"} {
		if text := in.dailyMails()[0]; !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

// TestDailyMailKilledAtEachStep: a process dies before it sends the daily mail, and after.
// Shows: P6
func TestDailyMailKilledAtEachStep(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	o.finish(o.deposit("again"))
	for _, point := range []string{"daemon/daily/send/before", "daemon/daily/send/after"} {
		mailsDaily(o, point)
	}
	o.finish()
	o.sound()
}

// mailsDaily: a process dies while it sends the daily mail. Another sends it, once.
func mailsDaily(o *crashInstallation, point string) {
	o.n++
	minute := fmt.Sprintf("%02d", o.n%60) // deposits count on
	with := []string{"serve", "--set=mail_from=accession@example.org", "--set=daily_mail=ops@example.org", "--set=daily_mail_at=00:" + minute}
	before := len(o.dailyMails())
	o.dies(point, nil, with...)
	s := o.serve(with[1:]...)
	o.finish(o.deposit("again"))
	waitFor(o.t, "the daily mail to be recorded", func() bool {
		return o.count(`select count(*) from record.delivery where about = 'daily' and state = 'delivered' and key like '%:' || $1`, minute) > 0
	})
	s.stop()
	if n := len(o.dailyMails()) - before; n != 1 {
		o.t.Errorf("%d daily mails after a death at %s", n, point)
	}
	if n := o.count(`select count(*) from record.delivery where about = 'daily' and state <> 'delivered'`); n != 0 {
		o.t.Errorf("%d daily mails are not delivered after a death at %s", n, point)
	}
}
