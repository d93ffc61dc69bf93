package daemon

import (
	"context"
	"encoding/json"
	"maps"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
)

// notebook keeps records in memory, for tests of who is served and when: each job is a
// new object without local ids.
type notebook struct {
	mu      sync.Mutex
	effects map[string]record.Effect
	objects map[domain.JobID]domain.StoredObject
	sent    map[string]record.Delivery
}

func inNotebook(w *fixture) {
	n := &notebook{effects: map[string]record.Effect{}, objects: map[domain.JobID]domain.StoredObject{}, sent: map[string]record.Delivery{}}
	w.cfg.Records = Records{n, n, n, n, nil}
}

func (n *notebook) UseIdentifier(context.Context, record.Use) error { return nil }

func (n *notebook) LookupLocalID(context.Context, record.Scope, []string) (string, error) {
	return "", nil
}

func (n *notebook) BindLocalID(_ context.Context, _ record.Scope, _ []string, primary string, _ domain.JobID) (string, error) {
	return primary, nil
}

func (n *notebook) ReserveIdentifier(_ context.Context, _ domain.JobID, name string) (record.Identifier, error) {
	return record.Identifier{Name: name}, nil
}

func (n *notebook) ConfirmIdentifier(context.Context, domain.JobID, string) error { return nil }

func (n *notebook) ReserveVersion(context.Context, domain.JobID, string) (int, error) { return 1, nil }

func (n *notebook) CurrentVersion(context.Context, string, int) (int, error) { return 0, nil }

func (n *notebook) BeginEffect(_ context.Context, key, _ string) (record.Effect, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.effects[key]
	e.Key, e.Begun = key, e.Begun+1
	n.effects[key] = e
	return e, nil
}

func (n *notebook) AcceptEffect(context.Context, string, any) (record.Effect, error) {
	return record.Effect{}, nil
}

func (n *notebook) FinishEffect(_ context.Context, key string, result any) (record.Effect, error) {
	data, err := json.Marshal(result)
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.effects[key]
	e.Done, e.Result = true, data
	n.effects[key] = e
	return e, err
}

func (n *notebook) RecordObject(_ context.Context, o record.Object) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := o.Manifest
	n.objects[m.Job] = domain.StoredObject{Primary: m.Object, Version: m.Version, ManifestKey: o.ManifestKey, ManifestSHA256: o.ManifestSHA256, Files: len(m.Files), Bytes: m.Bytes}
	return true, nil
}

func (n *notebook) RecordedObject(_ context.Context, job domain.JobID) (domain.StoredObject, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o, found := n.objects[job]
	return o, found, nil
}

func (n *notebook) RecordedVersions(_ context.Context, jobs []string) (map[domain.JobID]int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	versions := map[domain.JobID]int{}
	for _, j := range jobs {
		if o, found := n.objects[domain.JobID(j)]; found {
			versions[domain.JobID(j)] = o.Version
		}
	}
	return versions, nil
}

func (n *notebook) BeginDelivery(_ context.Context, m record.Message) (record.Delivery, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.sent[m.Key]
	d.Message, d.Attempts = m, d.Attempts+1
	n.sent[m.Key] = d
	return d, nil
}

func (n *notebook) EndDelivery(_ context.Context, key string, failure error, _ bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d := n.sent[key]; failure == nil {
		d.State = record.DeliveryDelivered
		n.sent[key] = d
	}
	return nil
}

func (n *notebook) BatchDeliveries(_ context.Context, batch domain.BatchID) (all []record.Delivery, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for d := range maps.Values(n.sent) {
		if d.Batch == batch {
			all = append(all, d)
		}
	}
	return all, nil
}

func (*notebook) KeepDeposit(context.Context, domain.BatchID, domain.Submission) (domain.BatchID, error) {
	return "", nil
}

func (n *notebook) KeepURLs(_ context.Context, full []string) ([]string, error) { return full, nil }

func (n *notebook) FullURL(_ context.Context, public string) (string, error) { return public, nil }

func (n *notebook) ReservedVersion(context.Context, domain.JobID) (int, error) { return 0, nil }

func (n *notebook) ComputeResult(context.Context, compute.ID, string, int64) (record.ComputeResult, bool, error) {
	return record.ComputeResult{}, false, nil
}
