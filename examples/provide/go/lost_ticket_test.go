package lostticket

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// fake is a fake provider of one test.
type fake struct {
	Address   string
	Control   string
	TokenFile string `json:"token_file"`
	token     string
}

func provide(t *testing.T, contract string) *fake {
	cmd := exec.Command("sixthcopy", "provide", contract)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n') // it comes when the fake can be called
	if err != nil {
		t.Fatal(err)
	}
	var f fake
	if err := json.Unmarshal(line, &f); err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(f.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	f.token = string(token)
	return &f
}

func (f *fake) ask(t *testing.T, method, url, body string, into any) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// The answer to a new ticket is lost. The ticket is found again by its reference, and no second one is made.
func TestLostTicket(t *testing.T) {
	f := provide(t, "tickets-authoritative")
	var order struct{ ID string }
	f.ask(t, "POST", f.Control+"/gate", `{"at":"committed","act":"close"}`, &order)

	_, err := http.Post(f.Address+"/tickets", "application/json", strings.NewReader(`{"title":"Late parcel","reference":"order-4821"}`))
	if err == nil {
		t.Fatal("the answer was to be lost")
	}
	var found struct{ Tickets []struct{ ID string } }
	f.ask(t, "GET", f.Address+"/tickets?reference=order-4821", "", &found)
	var effects []struct{ Object string }
	f.ask(t, "GET", f.Control+"/effects", "", &effects)
	if len(found.Tickets) != 1 || len(effects) != 1 || found.Tickets[0].ID != effects[0].Object {
		t.Fatalf("found %v, there is %v", found.Tickets, effects)
	}
}
