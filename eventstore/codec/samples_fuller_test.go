package codec_test

import (
	"reflect"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	rule "github.com/accession-ingest/accession/domain/setting"
)

// generations returns the samples as the program wrote them at different times. Each
// generation adds optional fields, and its golden events stay as they are.
func generations() [][]domain.Recorded {
	return [][]domain.Recorded{samples(), fuller(), ordered(), timed(), listed(), suspended(), limited(), processed(), waiting(), mailed(), profiled(), dated(), gathered(), polled(), sought(), ruled()}
}

// sought returns the samples of the fifteenth generation, in which queries find what their
// submitters may see.
func sought() []domain.Recorded {
	all := polled()
	for i := range all {
		if d, ok := all[i].Data.(*domain.QueryReceived); ok {
			d.Request.Within = &asked.Within{Collections: []string{"maps"}, Own: true}
		}
	}
	return all
}

// ruled returns the samples of the sixteenth generation, in which datasets take files by their
// metadata.
func ruled() []domain.Recorded {
	all := sought()
	least, most := 0.5, 30.0
	rules := &rule.Rules{Predicate: &rule.Predicate{URL: "https://data.example.org/may", TimeoutSeconds: 5},
		Metadata: []rule.MetadataRule{{Name: "clouds", Min: &least, Max: &most}, {Name: "filter", Values: []string{"R", "V"}}}}
	for i := range all {
		if d, ok := all[i].Data.(*domain.SettingChanged); ok {
			all[i].Aggregate = domain.SettingAggregate(domain.SettingDataset, "nights")
			*d = domain.SettingChanged{Kind: domain.SettingDataset, Name: "nights", From: "set", To: "set", Why: "clear nights alone",
				Previous: &domain.SettingValue{Dataset: &domain.Dataset{Collection: "maps", Profile: "maps"}},
				Value:    &domain.SettingValue{Dataset: &domain.Dataset{Collection: "maps", Profile: "maps", Rules: rules}}}
		}
	}
	return all
}

// keyed returns the samples of the eleventh generation with idempotency keys of queries.
func keyed() []domain.Recorded {
	all := profiled()
	for i := range all {
		if d, ok := all[i].Data.(*domain.QueryReceived); ok {
			d.KeySHA256 = sampleDigest
		}
	}
	return all
}

// mailed returns the samples of the tenth generation, in which reports of queries are mailed.
func mailed() []domain.Recorded {
	all := waiting()
	for i := range all {
		switch d := all[i].Data.(type) {
		case *domain.QueryReceived:
			d.Request.Format, d.Request.Recipients = asked.FormatCSV, 2
		case *domain.QueryAnswered:
			d.Mailed = &domain.QueryDelivery{Delivery: "qid0000000007/report", Delivered: true}
		case *domain.QueryMove:
			if all[i].Type == domain.EventQueryFailed {
				d.Mailed = &domain.QueryDelivery{Delivery: "qid0000000007/report",
					Reason: &domain.Reason{Class: domain.ClassSystem, Code: "mail_drop", Message: "the mail could not be sent"}}
			}
		}
	}
	return all
}

// waiting returns the samples of the ninth generation, in which batches wait in deposit
// queues.
func waiting() []domain.Recorded {
	all := processed()
	ticket := &domain.Ticket{Queue: "metadata", User: "anna", Slot: 3}
	for i := range all {
		switch d := all[i].Data.(type) {
		case *domain.BatchSubmitted:
			d.Ticket = ticket
		case *domain.BatchMoved:
			if all[i].Type == domain.EventBatchReleased {
				d.Ticket = ticket
			}
			if all[i].Type == domain.EventBatchHeld {
				d.Ring = &domain.RingPosition{Turn: 18, Cursor: 4, Used: 1}
			}
		}
	}
	return all
}

// ofQueue returns the samples with a change of a setting of a deposit queue.
func ofQueue(kind domain.SettingKind, name, from string, previous *domain.SettingValue, value domain.SettingValue) []domain.Recorded {
	all := listed()
	for i := range all {
		if d, ok := all[i].Data.(*domain.SettingChanged); ok {
			all[i].Aggregate = domain.SettingAggregate(kind, name)
			*d = domain.SettingChanged{Kind: kind, Name: name, From: from, To: "set", Why: "stocktaking", Previous: previous, Value: &value}
		}
	}
	return all
}

// suspended returns the samples of the sixth generation, which has the deposit queues.
func suspended() []domain.Recorded {
	two, none := 2, 0
	return ofQueue(domain.SettingDepositQueue, "metadata", "set", &domain.SettingValue{DepositQueue: &domain.DepositQueue{Allocation: &two}},
		domain.SettingValue{DepositQueue: &domain.DepositQueue{Suspended: true, Prohibited: []string{"ana", "ben"}, Allocation: &two, Concurrency: &none}})
}

// limited returns the samples of the seventh generation, which has the limits of users.
func limited() []domain.Recorded {
	three, none := 3, 0
	return ofQueue(domain.SettingUserLimit, domain.UserLimitName("query", "ana@example.org"), "set",
		&domain.SettingValue{UserLimit: &domain.UserLimit{User: "ana@example.org", Allocation: &three}},
		domain.SettingValue{UserLimit: &domain.UserLimit{User: "ana@example.org", Allocation: &three, Concurrency: &none}})
}

// processed returns the samples of the eighth generation, which has processors.
func processed() []domain.Recorded {
	return ofQueue(domain.SettingProcessor, domain.ProcessorName("metadata", "films"), "set",
		&domain.SettingValue{Processor: &domain.Processor{Queue: "metadata", Users: []string{"ana"}}},
		domain.SettingValue{Processor: &domain.Processor{Queue: "metadata", Users: []string{"ana"}, ExcludeUsers: true, Preferred: []string{"ben"}, MaxSize: 1 << 20, Workers: 2, Stopped: true}})
}

// dated returns the samples of the twelfth generation, in which queries have idempotency keys
// and jobs say when the file of their row was modified.
func dated() []domain.Recorded {
	all := keyed()
	for i := range all {
		if d, ok := all[i].Data.(*domain.JobCreated); ok {
			d.Configuration.FileModified = domain.At(time.Date(2019, 5, 6, 7, 8, 9, 0, time.UTC))
		}
	}
	return all
}

// profiled returns the samples of the eleventh generation, in which profiles are set.
func profiled() []domain.Recorded {
	const before, after = "3b1f9c0d2e4a5b6c7d8e9f00112233445566778899aabbccddeeff0011223344", "a0c1e2f30415263748596a7b8c9dae0f1021324354657687980a1b2c3d4e5f60"
	all := mailed()
	for i := range all {
		if d, ok := all[i].Data.(*domain.SettingChanged); ok {
			all[i].Aggregate = domain.SettingAggregate(domain.SettingProfile, "maps")
			*d = domain.SettingChanged{Kind: domain.SettingProfile, Name: "maps", From: "set", To: "set", Why: "larger maps",
				Previous: &domain.SettingValue{Profile: &domain.Profile{Version: before[:12], SHA256: before}},
				Value:    &domain.SettingValue{Profile: &domain.Profile{Version: after[:12], SHA256: after}}}
		}
	}
	return all
}

// timed returns the samples of the fourth generation, which has the timeouts of files.
func timed() []domain.Recorded {
	all := ordered()
	for i := range all {
		if d, ok := all[i].Data.(*domain.SettingChanged); ok {
			all[i].Aggregate = domain.SettingAggregate(domain.SettingTimeouts, domain.TimeoutsFiles)
			*d = domain.SettingChanged{Kind: domain.SettingTimeouts, Name: domain.TimeoutsFiles, From: "set", To: "set", Why: "large films",
				Previous: &domain.SettingValue{Timeouts: &domain.Timeouts{ProcessingSeconds: 3600}},
				Value:    &domain.SettingValue{Timeouts: &domain.Timeouts{DownloadSeconds: 21600, ProcessingSeconds: 86400}}}
		}
	}
	return all
}

// listed returns the samples of the fifth generation, which has the records of metadata
// deposits.
func listed() []domain.Recorded {
	all := timed()
	for i := range all {
		switch d := all[i].Data.(type) {
		case *domain.BatchSubmitted:
			d.Submission.Type, d.Submission.FileName = domain.TypeMetadata, "records.xml"
		case *domain.BatchListed:
			d.MetadataRecords = &domain.MetadataRecords{Success: 49_998, Warning: 1, Failure: 1, URL: "store:///records/bid0000000007.jsonl", SHA256: sampleDigest}
		}
	}
	return all
}

// ordered returns the samples of the third generation, which say of which object a job is
// and for which job of that object it waits.
func ordered() []domain.Recorded {
	all := fuller()
	for i := range all {
		switch d := all[i].Data.(type) {
		case *domain.JobCreated:
			d.Configuration.ObjectKey = sampleDigest
			d.Identifiers.ObjectKeys = []domain.ObjectKey{sampleDigest}
		case *domain.JobIdentified:
			d.Identifiers.ObjectKeys = []domain.ObjectKey{sampleDigest, domain.KeyOfPrimary("Maps_1", d.Identifiers.Primary)}
		case *domain.JobWaiting:
			d.WaitsFor = domain.NewJobID(41)
		}
	}
	return all
}

// fuller returns the samples of the second generation.
func fuller() []domain.Recorded {
	all := samples()
	for i := range all {
		fillIn(all[i].Data)
	}
	return all
}

// fillIn sets the fields that came with the second generation.
func fillIn(data domain.EventData) {
	at := domain.At(time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC))
	because := func(r *domain.Reason) *domain.Reason {
		if r == nil {
			return nil
		}
		more := *r
		more.Host, more.WhoActs = "example.org:8443", domain.ActsDepositor
		return &more
	}
	object := &domain.StoredObject{Primary: "ark:/99999/fk4abc", Version: 2, ManifestKey: "ark+=99999=fk4abc|2|manifest", ManifestSHA256: sampleDigest, Files: 3, Bytes: 12345}
	deposit := &domain.JobDeposit{BatchID: domain.NewBatchID(7), Submitter: "anna", Primary: "ark:/99999/fk4abc", LocalID: []string{"inv-1", "inv-2"},
		ErcWho: "Å. Ek", ErcWhat: "Karte", ErcWhen: "1901", ErcWhere: "ark:/99999/fk4abc", PayloadURL: "https://example.org/1",
		PayloadType: domain.TypeObjectManifest, SubmissionMode: "add", FileName: "1.checkm", Row: 1, ObjectKey: "o-1", ProfileVersion: "6f1c", Host: "example.org"}
	switch d := data.(type) {
	case *domain.BatchSubmitted:
		s := &d.Submission
		s.SubmissionID, s.Queue, s.User, s.Received, s.Slot = "sub-1", "maps", "anna@library", at, "2026-03"
		s.Primary, s.LocalIDs, s.ProfileVersion, s.KeySHA256 = "ark:/99999/fk4abc", []string{"inv-1"}, "6f1c", sampleDigest
	case *domain.JobCreated:
		c := &d.Configuration
		c.ObjectKey, c.ProfileVersion, c.Host, c.RowFault = "o-1", "6f1c", "example.org", because(c.RowFault)
	case *domain.JobDone:
		d.Deposit, d.Object = deposit, object
	case *domain.JobFailure:
		d.Deposit, d.Object = deposit, object
	case *domain.FileFound:
		f := &d.File
		f.Collection, f.Profile, f.Dataset, f.Group, f.Host = "Maps_1", "maps", "tides", "2026", "example.org"
	case *domain.FileFailed:
		d.Uncounted = true
	case *domain.SettingChanged:
		d.Value = &domain.SettingValue{Hold: d.Hold}
		d.Previous = &domain.SettingValue{Hold: &domain.Hold{By: "anna", When: at, Why: "inventory"}}
	}
	if m := partOf[domain.BatchMove](data); m != nil {
		m.Reason, m.Collection, m.Profile = because(m.Reason), "Maps_1", "maps"
	}
	if m := partOf[domain.JobMove](data); m != nil {
		m.Reason, m.Collection, m.Profile = because(m.Reason), "Maps_1", "maps"
	}
	if m := partOf[domain.FileMove](data); m != nil {
		m.Reason, m.Collection, m.Profile = because(m.Reason), "Maps_1", "maps"
		m.Dataset, m.Group, m.Host, m.Modified = "tides", "2026", "example.org", at
	}
}

// partOf returns the embedded part of an event's data, nil = it has none.
func partOf[M any](data domain.EventData) *M {
	v := reflect.ValueOf(data).Elem()
	for i := range v.NumField() {
		if m, ok := v.Field(i).Addr().Interface().(*M); ok {
			return m
		}
	}
	return nil
}

// gathered returns the samples of the thirteenth generation, in which datasets are set.
func gathered() []domain.Recorded {
	return setting(domain.SettingDataset, "nights", "larger maps",
		domain.SettingValue{Dataset: &domain.Dataset{Collection: "maps", Profile: "maps"}},
		domain.SettingValue{Dataset: &domain.Dataset{Collection: "maps", Profile: "large", GroupPattern: "^([0-9]{8})_", ByVersion: true}})
}

// polled returns the samples of the fourteenth generation, in which discoveries are set.
func polled() []domain.Recorded {
	one := domain.Discovery{URL: "https://data.example.org/night/", Dataset: "nights", EverySeconds: 300}
	two := one
	two.Group, two.Pattern, two.Recursive, two.MaxSize, two.Paused = "2026", "*.fits", true, 1<<30, true
	two.NewerThan = domain.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return setting(domain.SettingDiscovery, "nights", "they begin", domain.SettingValue{Discovery: &one}, domain.SettingValue{Discovery: &two})
}

// setting returns the samples with a change of a setting.
func setting(kind domain.SettingKind, name, why string, previous, value domain.SettingValue) []domain.Recorded {
	all := dated()
	for i := range all {
		if d, ok := all[i].Data.(*domain.SettingChanged); ok {
			all[i].Aggregate = domain.SettingAggregate(kind, name)
			*d = domain.SettingChanged{Kind: kind, Name: name, From: "set", To: "set", Why: why, Previous: &previous, Value: &value}
		}
	}
	return all
}
