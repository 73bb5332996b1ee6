package pubsubtest

import "testing"

func TestBacklogAgainstModel(t *testing.T) {
	for seed := range uint64(3_000) {
		if err := simulate(seed, func(*settings) {}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestModelFindsPlantedBugs: a backlog that works by another rule is found.
func TestModelFindsPlantedBugs(t *testing.T) {
	for bug, plant := range map[string]func(*settings){
		"an out-of-order ack is dropped for deferred or the other way round": func(s *settings) { s.onAck = 1 - s.onAck },
		"keys of an ended stream are released":                               func(s *settings) { s.onEnd = KeyReleased },
		"keys of an ended stream are held":                                   func(s *settings) { s.onEnd = KeyHeld },
		"a key moves to another stream too early":                            func(s *settings) { s.forgetsOwner = true },
		"order isn't kept":                                                   func(s *settings) { s.ordered = false },
		"dead letters one failure too late":                                  func(s *settings) { s.maxAttempts += min(s.maxAttempts, 1) },
		"dead letters are never removed":                                     func(s *settings) { s.copies += 1_000 },
		"dead letters are forwarded to a topic that doesn't exist":           func(s *settings) { s.anyTopic = true },
		"every delivery is an attempt":                                       func(s *settings) { s.attemptOff = true },
		"messages that are dragged along fail too":                           func(s *settings) { s.failsTogether = true },
		"the retention of the topic is forgotten":                            func(s *settings) { s.topicWindow = 0 },
		"the retention ends too late":                                        func(s *settings) { s.window += 20e9 },
		"acked messages are retained always":                                 func(s *settings) { s.retainAcked, s.retainAlways = true, true },
		"a seek goes a second too far":                                       func(s *settings) { s.seekOff = 1e9 },
		"back-off is shorter than the least":                                 func(s *settings) { s.backoff /= 2 },
		"back-off is longer than the policy says":                            func(s *settings) { s.backoff *= 2 },
		"back-off of a message is that of a later one of its key":            func(s *settings) { s.backoffOfKey = true },
		"others aren't held":                                                 func(s *settings) { s.noHold = true },
		"a hold ends with the first of its messages":                         func(s *settings) { s.forgetsHeld = true },
	} {
		t.Run(bug, func(t *testing.T) {
			for seed := range uint64(200) {
				if err := simulate(seed, plant); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("not found in 200 runs")
		})
	}
}
