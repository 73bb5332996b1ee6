package config

import (
	"strings"
	"time"
)

// Default returns the configuration of a file that sets only what it must. All
// names in it come from database.
func Default(database string) *Config {
	under := strings.ReplaceAll(database, "-", "_")
	topic := "cdc-" + database
	return &Config{
		Version:  1,
		Database: database,
		Source: Source{
			Slot:        "cdc_" + under,
			Publication: Publication{Name: "cdc_" + under, Inserts: "cdc_" + under + "_inserts"},
			State:       Place{Schema: "cdc"},
			Window:      256 << 20,
			TOAST:       "reread",
			Heartbeat:   10 * time.Second,
			SlotLag:     SlotLag{Warn: 5 << 30, Error: 20 << 30},
			Snapshot:    Snapshot{NewTables: "auto", Workers: 2},
		},
		PubSub: PubSub{
			Retention: 744 * time.Hour,
			Ordered: Ordered{
				Link:           Link{Topic: topic, Subscription: topic + "-sink"},
				AttemptTimeout: 10 * time.Second,
				MaxInFlight:    1024,
			},
			Unordered: Unordered{
				Link:           Link{Topic: topic + "-unordered", Subscription: topic + "-unordered-sink"},
				AttemptTimeout: 10 * time.Second,
				TotalTimeout:   time.Minute,
				Hedging:        Hedging{Delay: time.Second, MaxTokens: 50, RefillRatio: 0.1},
			},
			DeadLetter:     Link{Topic: topic + "-dead", Subscription: topic + "-dead-replay"},
			Requests:       Link{Topic: topic + "-requests", Subscription: topic + "-requests-publisher"},
			MaxOutstanding: Outstanding{Messages: 20_000, Bytes: 256 << 20},
			Lease:          Lease{Min: time.Minute, Max: 24 * time.Hour},
		},
		BigQuery: BigQuery{
			Dataset:      under,
			Table:        "{table}",
			MaxStaleness: Staleness{Auto: true},
			ApplyBudget:  2,
			Batch:        Batch{Rows: 5000, Bytes: 8 << 20},
		},
		Defaults: Options{
			Mode:      ModeCurrent,
			Ordering:  Ordering{Kind: OrderPrimaryKey},
			Snapshot:  "auto",
			OnRewrite: "warn",
			Unchanged: "omit",
			Oversize:  "dead_letter",
			BadValue:  "dead_letter",
		},
		Health: Health{Publisher: "127.0.0.1:8080", Sink: "127.0.0.1:8081"},
		Log:    Log{Level: "info", Progress: 30 * time.Second},
	}
}
