module example.com/lostticket

go 1.25
