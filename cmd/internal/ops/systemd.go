package ops

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Supervisor notifies systemd (Type=notify). It does nothing when systemd did not
// start this process.
type Supervisor struct {
	socket   string
	watchdog time.Duration // 0 = no watchdog
}

// SupervisedBy finds the supervisor in the environment.
func SupervisedBy(lookup func(string) string) Supervisor {
	s := Supervisor{socket: lookup("NOTIFY_SOCKET")}
	if us, err := strconv.ParseInt(lookup("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 {
		s.watchdog = time.Duration(us) * time.Microsecond
	}
	return s
}

// Tell sends one state, such as READY=1 or STOPPING=1.
func (s Supervisor) Tell(ctx context.Context, state string) error {
	if s.socket == "" {
		return nil
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unixgram", s.socket) // a leading @ is an abstract name
	if err == nil {
		defer conn.Close()
		_, err = conn.Write([]byte(state))
	}
	if err != nil {
		return fmt.Errorf("tell the supervisor %s: %w", state, err)
	}
	return nil
}

// Watch notifies the watchdog twice in its interval until ctx ends, each time when
// alive has returned: systemd restarts a process that hangs in alive.
func (s Supervisor) Watch(ctx context.Context, alive func()) {
	if s.socket == "" || s.watchdog == 0 {
		return
	}
	tick := time.NewTicker(s.watchdog / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			alive()
			_ = s.Tell(ctx, "WATCHDOG=1") // its absence is the message
		case <-ctx.Done():
			return
		}
	}
}
