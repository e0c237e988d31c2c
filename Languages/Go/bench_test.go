package weir_test

import (
	"os"
	"testing"
	"time"

	"weir"
)

// BenchmarkRead reads the log that WEIR_LOG names, each event with its fields.
func BenchmarkRead(b *testing.B) {
	directory := os.Getenv("WEIR_LOG")
	if directory == "" {
		b.Skip("WEIR_LOG names no log")
	}
	for _, decode := range []bool{false, true} {
		name := "events"
		if decode {
			name = "events with their fields"
		}
		b.Run(name, func(b *testing.B) {
			events, began := 0, time.Now()
			for i := 0; i < b.N; i++ {
				log, err := weir.Open(directory)
				if err != nil {
					b.Fatal(err)
				}
				for log.Next() {
					events++
					if decode {
						if _, err := log.Event().Fields(); err != nil {
							b.Fatal(err)
						}
					}
				}
				if err := log.Err(); err != nil {
					b.Fatal(err)
				}
				log.Close()
			}
			b.ReportMetric(float64(events)/time.Since(began).Seconds(), "events/s")
		})
	}
}
