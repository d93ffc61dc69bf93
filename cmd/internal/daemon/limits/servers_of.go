package limits

import (
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// ServersOf names what a daemon waits for while it works on a job in its state, as far as that
// is known without reading the job's manifest. An object store of a profile's own may hang
// like a depositor's server, and so may a service that makes identifiers known, stores or records;
// the installation's store is everybody's. found says that the job has a
// profile, and own that this has an object store of its own.
func ServersOf(state domain.JobState, j domain.Job, p profile.Profile, found, own bool) (servers []string) {
	switch {
	case state == domain.JobNotify && found:
		return Known(fetch.Host(p.Callback.URL))
	case state == domain.JobNotify:
		return nil
	case state != domain.JobProcessing && state != domain.JobRecording:
		return Known(fetch.Host(j.Configuration.PayloadURL))
	case found && state == domain.JobProcessing:
		servers = append(Known(fetch.Host(p.Identifier.URL)), Known(fetch.Host(p.StorageService()))...)
	case found:
		servers = Known(fetch.Host(p.Recording))
	}
	if own {
		servers = append(servers, storeOf(p))
	}
	return servers
}

func storeOf(p profile.Profile) string { return "the object store of profile " + p.Name }

// Known returns a server, unless it is the installation's own object store.
func Known(host string) []string {
	if host == "" {
		return nil
	}
	return []string{host}
}
