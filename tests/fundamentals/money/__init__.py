"""What is written down of money, against those who charge it."""
