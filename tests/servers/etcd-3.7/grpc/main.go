// How long etcd takes over gRPC for what a store asks of its gateway: `grpc ENDPOINT` prints medians.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// So many requests of each kind.
const times = 2000

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: os.Args[1:], DialTimeout: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	key := func(number int) string { return fmt.Sprintf("grpc %08d", number) }
	value := string(make([]byte, 32))
	var revision int64
	measure("commit of 8 puts", func(number int) error {
		puts := make([]clientv3.Op, 8)
		for at := range puts {
			puts[at] = clientv3.OpPut(key(8*number+at), value)
		}
		done, err := client.Txn(ctx).Then(puts...).Commit()
		if err == nil {
			revision = done.Header.Revision
		}
		return err
	})
	measure("get at a revision", func(number int) error {
		_, err := client.Get(ctx, key(number), clientv3.WithRev(revision), clientv3.WithSerializable())
		return err
	})
}

func measure(what string, ask func(int) error) {
	took := make([]time.Duration, times)
	for number := range took {
		begun := time.Now()
		if err := ask(number); err != nil {
			log.Fatal(err)
		}
		took[number] = time.Since(begun)
	}
	slices.Sort(took)
	fmt.Printf("gRPC: %-18s %v\n", what, took[times/2].Round(time.Microsecond))
}
