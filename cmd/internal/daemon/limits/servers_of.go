package limits

import (
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// ServersOf names what a daemon waits for while it works on a job in its state, as far as that
// is known without reading the job's manifest. An object store of a profile's own may hang
// like a depositor's server, and so may a service that makes identifiers known or records; the
// installation's store is everybody's. found says that the job has a
// profile, and own that this has an object store of its own.
func ServersOf(state domain.JobState, j domain.Job, p profile.Profile, found, own bool) []string {
	switch {
	case state == domain.JobNotify && found:
		return Known(fetch.Host(p.Callback.URL))
	case state == domain.JobProcessing && found && p.Identifier.URL != "":
		servers := Known(fetch.Host(p.Identifier.URL))
		if own {
			servers = append(servers, storeOf(p))
		}
		return servers
	case state == domain.JobRecording && found && p.Recording != "":
		servers := Known(fetch.Host(p.Recording))
		if own {
			servers = append(servers, storeOf(p))
		}
		return servers
	case (state == domain.JobProcessing || state == domain.JobRecording) && own:
		return []string{storeOf(p)}
	case state == domain.JobNotify, state == domain.JobProcessing, state == domain.JobRecording:
		return nil
	default:
		return Known(fetch.Host(j.Configuration.PayloadURL))
	}
}

func storeOf(p profile.Profile) string { return "the object store of profile " + p.Name }

// Known returns a server, unless it is the installation's own object store.
func Known(host string) []string {
	if host == "" {
		return nil
	}
	return []string{host}
}
