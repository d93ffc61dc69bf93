// Package ops is what a running process shows to its operators, and to what
// watches for them: [Metrics] for Prometheus, [Health] for load balancers and
// supervisors, and the [Server] that both are asked through:
//
//	GET /livez      200 while the process answers at all
//	GET /readyz     200 while it can do its work; ?verbose names each dependency
//	GET /metrics    Prometheus
//	GET /version    version, Go, instance, roles
//	GET /loglevel   the level of the log; PUT changes it
//	GET /debug/pprof/   profiles, when the setting ops_pprof asks for them
//
// The same health feeds systemd, see [Supervisor].
//
// Metrics are counted where every write passes: package wire hands each commit, claim
// and append to them. Those of the whole installation are read by a scrape, at most
// every few seconds; no question costs more with a longer backlog.
package ops
