package domain

import "strings"

// The consumer daemons: one a state, the janitor, and the sweeper of files. As
// actors of events they are written daemon/NAME.
const (
	DaemonBatchPending         = "batch-pending"
	DaemonBatchReporting       = "batch-reporting"
	DaemonBatchUpdateReporting = "batch-update-reporting"
	DaemonJobPending           = "job-pending"
	DaemonJobEstimating        = "job-estimating"
	DaemonJobProvisioning      = "job-provisioning"
	DaemonJobDownloading       = "job-downloading"
	DaemonJobProcessing        = "job-processing"
	DaemonJobRecording         = "job-recording"
	DaemonJobNotify            = "job-notify"
	DaemonJanitor              = "janitor"
	DaemonSweeper              = "sweeper"
)

// Actor says who caused an event: daemon/NAME or user/NAME.
type Actor string

// DaemonActor names a daemon as an actor.
func DaemonActor(name string) Actor { return Actor("daemon/" + name) }

// UserActor names a person as an actor.
func UserActor(name string) Actor { return Actor(userActor + name) }

const userActor = "user/"

// User returns the name of a person, "" = the actor is none.
func (a Actor) User() string {
	name, person := strings.CutPrefix(string(a), userActor)
	if !person {
		return ""
	}
	return name
}
