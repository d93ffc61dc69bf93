// Package zklive keeps the live state in ZooKeeper: the tree, the one multi that
// every change is, claims, holds, the outbox and the id blocks. It is the only code
// that speaks to ZooKeeper.
//
// Main path: commit.go turns a change into one multi, settle.go finds out whether a
// multi was applied whose answer was lost, outbox.go keeps committed events until the
// relay has written them to the log, claims.go makes and ends claims. Package
// internal/layout, which is pure, translates states to nodes and changes to operations.
// Package internal/session has the connection and its sessions, internal/permits the
// permits for hosts and submitters, internal/submitters who submitted which batch, package
// recovery what verify and restore need.
//
// The optimisations are beside the main path: group commit (internal/session),
// hand-over, relay hints, the caches of holds and of batches' statuses, and
// the indexes by which work is found without listing queues.
//
// The tree, below one configurable root:
//
//	/batches/BID/{submission,status,progress,status-report,lock}
//	/batches/BID/states/{batch-processing,batch-failed,batch-completed}/JID
//	/jobs/JID/{configuration,identifiers,metadata,status,priority,space_needed,claims,lock}
//	/jobs/states/STATE/PP-JID
//	/queues/QUEUE/{config,ring,names,users/SLOT/NUMBER-SIZE,running/SLOT}   /queries/QID
//	/outbox/SHARD/BUCKET/e-SEQUENCE   /outbox/SHARD/mark
//	/workers/ID   /leaders/NAME   /ids/{bid,jid}   /space/JID   /objects/SS/KEY-JID
//	/hosts/SHA256-N   /hosts/submitter-SHA256-N
//	/locks/collections/NAME   /locks/queue/NAME   /config/versions/NAME   /config/profiles/NAME
//	/config/{datasets,discoveries}/NAME   /config/{epoch,shards,format,high-water,restoring,restoring-log}
package zklive
