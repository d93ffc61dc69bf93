// Package tree reads and removes trees in ZooKeeper. It has connections of its own, so that
// it neither uses nor disturbs those of the program under test. Only tests use it.
package tree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

const (
	parallel     = 32  // requests at once
	deleteAtOnce = 500 // nodes in a multi
)

// Node is a node of a tree.
type Node struct {
	Data      string
	Ephemeral bool
}

// Dump returns a node and all nodes below it, by name below the root; none if it does not
// exist. A node that vanishes meanwhile is left out.
func Dump(ctx context.Context, servers []string, root, name string) (map[string]Node, error) {
	all := map[string]Node{}
	err := connected(ctx, servers, func(conn *zk.Conn) error {
		clear(all)
		var mu sync.Mutex
		_, err := walk(root+name, func(path string) ([]string, error) {
			data, stat, err := conn.Get(path)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			all[strings.TrimPrefix(path, root)] = Node{Data: string(data), Ephemeral: stat.EphemeralOwner != 0}
			mu.Unlock()
			if stat.NumChildren == 0 {
				return nil, nil
			}
			names, _, err := conn.Children(path)
			return names, err
		})
		return err
	})
	return all, err
}

// Destroy removes a node and all nodes below it, children first, also those that appear
// meanwhile. A node that does not exist is no error.
func Destroy(ctx context.Context, servers []string, root string) error {
	return connected(ctx, servers, func(conn *zk.Conn) error {
		for {
			paths, err := walk(root, func(path string) ([]string, error) {
				names, _, err := conn.Children(path)
				return names, err
			})
			if err != nil || len(paths) == 0 {
				return err
			}
			slices.Reverse(paths)
			for part := range slices.Chunk(paths, deleteAtOnce) {
				if err := remove(conn, part); err != nil {
					return err
				}
			}
		}
	})
}

// remove deletes nodes in this order, except those that have children.
func remove(conn *zk.Conn, paths []string) error {
	ops := make([]any, len(paths))
	for i, path := range paths {
		ops[i] = &zk.DeleteRequest{Path: path, Version: -1}
	}
	if _, err := conn.Multi(ops...); err == nil {
		return nil
	}
	for _, path := range paths { // a node was changed meanwhile
		if err := conn.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty) {
			return err
		}
	}
	return nil
}

// walk returns a node and all nodes below it, parents first, as children names them.
func walk(root string, children func(path string) ([]string, error)) (all []string, err error) {
	for level := []string{root}; len(level) > 0; {
		var mu sync.Mutex
		var below []string
		var g errgroup.Group
		g.SetLimit(parallel)
		for _, path := range level {
			g.Go(func() error {
				names, err := children(path)
				if errors.Is(err, zk.ErrNoNode) {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, path)
				for _, name := range names {
					below = append(below, path+"/"+name)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		level = below
	}
	return all, nil
}

// connected calls do with a connection, again when the server did not answer, until ctx
// ends. Nothing of the connection runs any more when connected returns.
func connected(ctx context.Context, servers []string, do func(*zk.Conn) error) error {
	conn, events, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, conn.Close)
	err = do(conn)
	for unanswered(err) && ctx.Err() == nil { // requests fail at most once a second while there is no server
		err = do(conn)
	}
	stop()
	conn.Close()
	for range events { // closed when the connection has ended
	}
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	return nil
}

func unanswered(err error) bool {
	return slices.ContainsFunc([]error{zk.ErrNoServer, zk.ErrConnectionClosed, zk.ErrSessionExpired}, func(e error) bool { return errors.Is(err, e) })
}
